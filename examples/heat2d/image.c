/* Purpose: see image.h.  PNG through libpng's simplified interface, PGM/PPM by hand. */

#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_PNG
#include <png.h>
#endif

static int fail(const char *path, const char *why)
{
    fprintf(stderr, "heat2d: %s: %s\n", path, why);
    return -1;
}

static int size_is_sane(long width, long height)
{
    return width >= 1 && height >= 1 && width <= IMAGE_SIDE_MAX && height <= IMAGE_SIDE_MAX;
}

/* ---- PGM, PPM -------------------------------------------------------------------------------- */

/* The next number of the header; comments run from # to the end of the line. */
static long header_number(FILE * file)
{
    int c = getc(file);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '#') {
        if (c == '#')
            while (c != '\n' && c != EOF)
                c = getc(file);
        c = getc(file);
    }
    ungetc(c, file);
    long number;
    return fscanf(file, "%9ld", &number) == 1 ? number : -1;
}

static int read_pnm(const char *path, FILE * file, struct image *image)
{
    char magic[2];
    if (fread(magic, 1, 2, file) != 2 || magic[0] != 'P' || (magic[1] != '5' && magic[1] != '6'))
        return fail(path, "neither PNG nor binary PGM or PPM (P5, P6)");
    image->gray = magic[1] == '5';
    long width = header_number(file), height = header_number(file), depth = header_number(file);
    if (!size_is_sane(width, height) || depth != 255)
        return fail(path, "a size or depth that heat2d does not read (8 bits, sides up to 32768)");
    getc(file);                 /* the one blank after the header */
    image->width = (int) width;
    image->height = (int) height;

    size_t pixels = (size_t) width * (size_t) height;
    size_t bytes = pixels * (image->gray ? 1 : 3);
    image->rgb = malloc(3 * pixels);
    if (!image->rgb)
        return fail(path, "not enough memory");
    if (fread(image->rgb, 1, bytes, file) != bytes) {
        free(image->rgb);
        return fail(path, "the file is too short");
    }
    if (image->gray)            /* spread from the end, in place */
        for (size_t i = pixels; i-- > 0;)
            image->rgb[3 * i] = image->rgb[3 * i + 1] = image->rgb[3 * i + 2] = image->rgb[i];
    return 0;
}

static int write_pnm(const char *path, const struct image *image)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return fail(path, "cannot be written");
    size_t bytes = 3 * (size_t) image->width * (size_t) image->height;
    int good = fprintf(file, "P6\n%d %d\n255\n", image->width, image->height) > 0
        && fwrite(image->rgb, 1, bytes, file) == bytes;
    if (fclose(file) != 0 || !good)
        return fail(path, "could not be written completely");
    return 0;
}

/* ---- PNG ------------------------------------------------------------------------------------- */

#ifdef HAVE_PNG
static int read_png(const char *path, struct image *image)
{
    png_image png = {.version = PNG_IMAGE_VERSION };
    if (!png_image_begin_read_from_file(&png, path))
        return fail(path, png.message);
    image->gray = !(png.format & PNG_FORMAT_FLAG_COLOR);
    image->width = (int) png.width;
    image->height = (int) png.height;
    image->rgb = NULL;
    if (!size_is_sane(image->width, image->height)) {
        png_image_free(&png);
        return fail(path, "a side is longer than 32768");
    }
    png.format = PNG_FORMAT_RGB;
    image->rgb = malloc(PNG_IMAGE_SIZE(png));
    /* transparent parts become black */
    if (!image->rgb || !png_image_finish_read(&png, &(png_color) {0, 0, 0}, image->rgb, 0, NULL)) {
        png_image_free(&png);
        free(image->rgb);
        return fail(path, image->rgb ? png.message : "not enough memory");
    }
    return 0;
}

static int write_png(const char *path, const struct image *image)
{
    png_image png = {
        .version = PNG_IMAGE_VERSION,
        .width = (png_uint_32) image->width,
        .height = (png_uint_32) image->height,
        .format = PNG_FORMAT_RGB
    };
    if (!png_image_write_to_file(&png, path, 0, image->rgb, 0, NULL))
        return fail(path, png.message);
    return 0;
}
#endif

/* ---- either ---------------------------------------------------------------------------------- */

int image_read(const char *path, struct image *image)
{
    unsigned char first = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(path, "cannot be opened");
    if (fread(&first, 1, 1, file) != 1) {
        fclose(file);
        return fail(path, "the file is empty");
    }
    rewind(file);
    int result;
    if (first != 0x89)          /* PNG's first byte */
        result = read_pnm(path, file, image);
    else
#ifdef HAVE_PNG
        result = read_png(path, image);
#else
        result = fail(path, "this heat2d was built without libpng and reads PGM and PPM only");
#endif
    fclose(file);
    return result;
}

int image_write(const char *path, const struct image *image)
{
    size_t length = strlen(path);
    if (length < 4 || strcmp(path + length - 4, ".png") != 0)
        return write_pnm(path, image);
#ifdef HAVE_PNG
    return write_png(path, image);
#else
    return fail(path, "this heat2d was built without libpng and writes PPM only");
#endif
}
