/* Purpose: see scene.h. */

#include "scene.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AMBIENT = 26, WALL = 4, RIGHT = 1, DOWN = 2, SEEN = 4 };

/* Marsaglia's 32-bit xorshift generator. */
static unsigned draw(uint32_t * state, unsigned below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (*state >> 8) % below;
}

struct maze {
    int columns, rows;
    unsigned char *open;        /* by cell: SEEN, and which of its right and lower walls are open */
};

/* The cell on that side of another, or -1 beyond the edge. */
static int beside(const struct maze *maze, int cell, unsigned side)
{
    int column = cell % maze->columns, row = cell / maze->columns;
    switch (side) {
        case 0:
            return column + 1 < maze->columns ? cell + 1 : -1;
        case 1:
            return row + 1 < maze->rows ? cell + maze->columns : -1;
        case 2:
            return column > 0 ? cell - 1 : -1;
        default:
            return row > 0 ? cell - maze->columns : -1;
    }
}

static void open_wall(struct maze *maze, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    maze->open[low] |= high == low + 1 && maze->columns > 1 ? RIGHT : DOWN;
}

/* A depth-first walk that opens the walls which it passes; then a few more, so that there are
 * rings. */
static int maze_make(struct maze *maze, uint32_t * random)
{
    int cells = maze->columns * maze->rows, depth = 0;
    maze->open = calloc((size_t) cells, 1);
    int *path = malloc((size_t) cells * sizeof(int));
    if (!maze->open || !path)
        return free(maze->open), free(path), -1;

    path[0] = (int) draw(random, (unsigned) cells);
    maze->open[path[0]] = SEEN;
    while (depth >= 0) {
        int here = path[depth], next = -1;
        unsigned first = draw(random, 4);
        for (unsigned turn = 0; turn < 4 && next < 0; turn++) {
            int cell = beside(maze, here, (first + turn) % 4);
            if (cell >= 0 && !(maze->open[cell] & SEEN))
                next = cell;
        }
        if (next < 0) {
            depth--;
            continue;
        }
        open_wall(maze, here, next);
        maze->open[next] |= SEEN;
        path[++depth] = next;
    }
    for (int i = 0; i < cells / 6; i++) {
        int cell = (int) draw(random, (unsigned) cells), other =
            beside(maze, cell, draw(random, 4));
        if (other >= 0)
            open_wall(maze, cell, other);
    }
    free(path);
    return 0;
}

static void paint(struct image *image, int x, int y, int channel, unsigned char value)
{
    if (x >= 0 && y >= 0 && x < image->width && y < image->height)
        image->rgb[3 * ((size_t) y * (size_t) image->width + (size_t) x) + (size_t) channel] =
            value;
}

static void box(struct image *image, int x0, int y0, int x1, int y1, int channel,
                unsigned char value)
{
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            paint(image, x, y, channel, value);
}

static void disc(struct image *image, int x0, int y0, int radius, unsigned char heat, int held)
{
    for (int y = -radius; y <= radius; y++)
        for (int x = -radius; x <= radius; x++)
            if (x * x + y * y <= radius * radius) {
                paint(image, x0 + x, y0 + y, 0, heat);
                if (held)
                    paint(image, x0 + x, y0 + y, 2, 255);
            }
}

static void paint_walls(struct image *image, const struct maze *maze)
{
    int w = image->width, h = image->height, thick = w / maze->columns / 12 + 1;
    for (int cell = 0; cell < maze->columns * maze->rows; cell++) {
        int column = cell % maze->columns, row = cell / maze->columns;
        int left = column * w / maze->columns, right = (column + 1) * w / maze->columns;
        int top = row * h / maze->rows, bottom = (row + 1) * h / maze->rows;
        if (!(maze->open[cell] & RIGHT) && column + 1 < maze->columns)
            box(image, right - thick, top - thick, right + thick, bottom + thick, 1, WALL);
        if (!(maze->open[cell] & DOWN) && row + 1 < maze->rows)
            box(image, left - thick, bottom - thick, right + thick, bottom + thick, 1, WALL);
    }
}

/* A disc of that heat in the middle of a cell of the maze that has none yet. */
static void put_disc(struct image *image, struct maze *maze, uint32_t * random,
                     int percent_of_cell, unsigned char heat, int held)
{
    enum { TAKEN = 8 };
    int cells = maze->columns * maze->rows, cell = (int) draw(random, (unsigned) cells);
    for (int tries = 0; tries < cells && (maze->open[cell] & TAKEN); tries++)
        cell = (cell + 1) % cells;
    maze->open[cell] |= TAKEN;
    int x = (2 * (cell % maze->columns) + 1) * image->width / (2 * maze->columns);
    int y = (2 * (cell / maze->columns) + 1) * image->height / (2 * maze->rows);
    disc(image, x, y, image->width / maze->columns * percent_of_cell / 200, heat, held);
}

int scene_make(int width, int height, unsigned seed, struct image *image)
{
    uint32_t random = seed * 2654435769u + 1;
    struct maze maze = {.columns = 16,.rows = height * 16 / width };
    if (maze.rows < 1)
        maze.rows = 1;
    if (random == 0)
        random = 1;
    *image = (struct image) {.width = width,.height = height };
    image->rgb = malloc(3 * (size_t) width * (size_t) height);
    if (!image->rgb || maze_make(&maze, &random) != 0) {
        fprintf(stderr, "heat2d: not enough memory for a scene of %d x %d\n", width, height);
        free(image->rgb);
        return -1;
    }
    box(image, 0, 0, width, height, 0, AMBIENT);
    box(image, 0, 0, width, height, 1, 255);
    box(image, 0, 0, width, height, 2, 0);
    paint_walls(image, &maze);
    int cells = maze.columns * maze.rows;
    for (int i = 0; i < cells / 12 + 1; i++)
        put_disc(image, &maze, &random, 70, 255, 0);
    for (int i = 0; i < cells / 16 + 1; i++)
        put_disc(image, &maze, &random, 50, 255, 1);
    for (int i = 0; i < cells / 24 + 1; i++)
        put_disc(image, &maze, &random, 50, 0, 1);
    free(maze.open);
    return 0;
}
