"""The harness of `./run bench`: compiles bench/*.c, measures side by side, reports which targets hold."""
