/* heat2d-scene FILE [WIDTHxHEIGHT [SEED]]: writes a picture for heat2d to start from (no MPI). */

#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int width = 640, height = 480;
    unsigned seed = 1;
    char rest;

    if (argc < 2 || argc > 4
        || (argc > 2 && sscanf(argv[2], "%dx%d%c", &width, &height, &rest) != 2)
        || (argc > 3 && sscanf(argv[3], "%u%c", &seed, &rest) != 1)
        || width < SCENE_SIDE_MIN || height < SCENE_SIDE_MIN
        || width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX) {
        fprintf(stderr,
                "usage: heat2d-scene FILE.png|FILE.ppm [WIDTHxHEIGHT [SEED]]   sides %d to %d\n",
                SCENE_SIDE_MIN, IMAGE_SIDE_MAX);
        return 2;
    }
    struct image image;
    int bad = scene_make(width, height, seed, &image) != 0;
    if (!bad) {
        bad = image_write(argv[1], &image) != 0;
        free(image.rgb);
    }
    return bad;
}
