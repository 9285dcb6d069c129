/* A picture to start from, made of integers alone: the same for a seed and a size everywhere. */

#ifndef SCENE_H_INCLUDED
#define SCENE_H_INCLUDED

#include "image.h"

#define SCENE_SIDE_MIN 64

/* A plate with a labyrinth of insulating walls, hot and cold spots that are held, and warm patches.
 * Channels as in plate_from_image.  Returns 0, or -1 after a message on standard error. */
int scene_make(int width, int height, unsigned seed, struct image *image);

#endif /* SCENE_H_INCLUDED */
