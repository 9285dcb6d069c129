/*
 * heat2d: heat conduction in a plate, by a world that may grow and shrink while it computes.
 *
 *   heat2d [--input FILE | --size WxH --seed S] [--iterations N] [--probe-every K]
 *          [--output FILE.png] [--dump FILE] [--quiet]
 *
 * The plate is read from a picture (plate.h states how) or made from a seed; its temperatures are
 * written as a picture (--output) and as raw doubles, row by row (--dump).  The result does not
 * depend on the number of processes nor on how that changes on the way.
 */

#include "adapt.h"
#include "image.h"
#include "plate.h"
#include "scene.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *input, *output, *dump;
    int width, height, iterations, probe_every, quiet;
    unsigned seed;
};

static const char usage[] =
    "usage: heat2d [--input FILE | --size WxH --seed S] [--iterations N] [--probe-every K]\n"
    "              [--output FILE.png] [--dump FILE] [--quiet]\n"
    "N is 0 or more, K 1 or more; sides of a made plate are from 64 to 32768.\n";

static int number(const char *text, int low, int *value)
{
    char *end;
    long n = strtol(text, &end, 10);
    *value = (int) n;
    return *text && !*end && n >= low && n <= 2000000000;
}

/* Returns 0 if the command line is wrong. */
static int parse(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"input", required_argument, NULL, 'i'}, {"size", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'r'}, {"iterations", required_argument, NULL, 'n'},
        {"probe-every", required_argument, NULL, 'k'}, {"output", required_argument, NULL, 'o'},
        {"dump", required_argument, NULL, 'd'}, {"quiet", no_argument, NULL, 'q'}, {0}
    };
    int good = 1, option, seed = 1;
    char rest;

    *options = (struct options) {.width = 640,.height = 480,.iterations = 1000,.probe_every = 1 };
    opterr = 0;
    while (good && (option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
            case 'i':
                options->input = optarg;
                break;
            case 's':
                good = sscanf(optarg, "%dx%d%c", &options->width, &options->height, &rest) == 2
                    && options->width >= SCENE_SIDE_MIN && options->height >= SCENE_SIDE_MIN
                    && options->width <= IMAGE_SIDE_MAX && options->height <= IMAGE_SIDE_MAX;
                break;
            case 'r':
                good = number(optarg, 0, &seed);
                break;
            case 'n':
                good = number(optarg, 0, &options->iterations);
                break;
            case 'k':
                good = number(optarg, 1, &options->probe_every);
                break;
            case 'o':
                options->output = optarg;
                break;
            case 'd':
                options->dump = optarg;
                break;
            case 'q':
                options->quiet = 1;
                break;
            default:
                good = 0;
        }
    }
    options->seed = (unsigned) seed;
    return good && optind == argc;
}

/* Every process reads the picture and keeps its rows. */
static int load(const struct options *options, struct plate *plate)
{
    struct image image;
    int rank, size;
    int bad = options->input ? image_read(options->input, &image)
        : scene_make(options->width, options->height, options->seed, &image);
    if (bad)
        return bad;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    plate->width = image.width;
    plate->height = image.height;
    plate->iteration = 0;
    plate->start = MPI_Wtime();
    plate_allocate(plate, plate_first_row(rank, size, plate->height),
                   plate_first_row(rank + 1, size, plate->height));
    plate_from_image(plate, &image);
    free(image.rgb);
    plate_prepare(plate, MPI_COMM_WORLD);
    return 0;
}

/* From black over violet, red and orange to a yellowish white. */
static void colour(double heat, unsigned char rgb[3])
{
    static const double stops[][3] = {
        {8, 8, 26}, {58, 18, 110}, {140, 30, 120}, {214, 56, 84}, {246, 120, 40}, {252, 196, 60},
        {255, 252, 220}
    };
    enum { LAST = sizeof(stops) / sizeof(stops[0]) - 1 };
    double at = (heat < 0 ? 0 : heat > 1 ? 1 : heat) * LAST;
    int stop = at >= LAST ? LAST - 1 : (int) at;
    for (int c = 0; c < 3; c++)
        rgb[c] =
            (unsigned char) (stops[stop][c] + (at - stop) * (stops[stop + 1][c] - stops[stop][c])
                             + 0.5);
}

static int write_picture(const char *path, const struct plate *plate, const double *field)
{
    size_t cells = (size_t) plate->width * (size_t) plate->height;
    struct image image = {.width = plate->width,.height = plate->height };
    image.rgb = malloc(3 * cells);
    if (!image.rgb) {
        fprintf(stderr, "heat2d: not enough memory for the picture\n");
        return -1;
    }
    for (size_t i = 0; i < cells; i++)
        colour(field[i], image.rgb + 3 * i);
    int result = image_write(path, &image);
    free(image.rgb);
    return result;
}

static int write_dump(const char *path, const struct plate *plate, const double *field)
{
    size_t cells = (size_t) plate->width * (size_t) plate->height;
    FILE *file = fopen(path, "wb");
    int good = file && fwrite(field, sizeof(double), cells, file) == cells;
    if ((file && fclose(file) != 0) || !good) {
        fprintf(stderr, "heat2d: %s: cannot be written\n", path);
        return -1;
    }
    return 0;
}

/* Rank 0 writes the results.  0 if all went well. */
static int save(const struct options *options, const struct plate *plate)
{
    int bad = 0;
    double *field = plate_gather(plate, MPI_COMM_WORLD);
    if (field && options->dump)
        bad |= write_dump(options->dump, plate, field);
    if (field && options->output)
        bad |= write_picture(options->output, plate, field);
    free(field);
    return bad;
}

int main(int argc, char **argv)
{
    struct options options;
    struct plate plate = { 0 };
    int rank, size;

    int good = parse(argc, argv, &options);
    int joined = adapt_init(&argc, &argv, &plate);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!good) {
        if (rank == 0)
            fputs(usage, stderr);
        MPI_Finalize();
        return 2;
    }
    if (!joined && load(&options, &plate) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);

    while (plate.iteration < options.iterations) {
        plate_step(&plate, MPI_COMM_WORLD);
        if (plate.iteration < options.iterations && plate.iteration % options.probe_every == 0)
            adapt_if_pending(&plate);     /* MPI_COMM_WORLD may be another one after this */
    }
    double seconds = MPI_Wtime() - plate.start;

    int bad = save(&options, &plate);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && !options.quiet)
        printf("heat2d: %d sweeps over %d x %d cells in %.3f s, ended with %d process%s\n",
               plate.iteration, plate.width, plate.height, seconds, size, size == 1 ? "" : "es");
    plate_free(&plate);
    MPI_Finalize();
    return bad ? 1 : 0;
}
