/* Pictures as the solver's input and output: 8 bits for each of red, green and blue, row by row.
 * PNG needs libpng (HAVE_PNG); PGM (P5) and PPM (P6) need nothing.  No MPI here. */

#ifndef IMAGE_H_INCLUDED
#define IMAGE_H_INCLUDED

struct image {
    int width, height;
    int gray;                   /* the file had one channel: red, green and blue are equal */
    unsigned char *rgb;         /* 3 * width * height, malloc'ed */
};

#define IMAGE_SIDE_MAX 32768

/* Both return 0, or -1 after a message on standard error that names the file and the reason.
 * The format to write follows from the name's end: .png, else PPM. */
int image_read(const char *path, struct image *image);
int image_write(const char *path, const struct image *image);

#endif /* IMAGE_H_INCLUDED */
