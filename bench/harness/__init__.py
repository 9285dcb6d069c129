"""The harness of `./run bench`: compiles bench/*.c, measures side by side, says which bars hold."""
