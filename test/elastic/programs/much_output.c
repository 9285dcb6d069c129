/* I5: a long output of every process, joining and leaving ones too, arrives whole. */

#include "elastic_test.h"

#define LINES 400

static void window(void)
{
    for (int i = 0; i < LINES; i++)
        et_log("BULK epoch=%d from=%lx line=%d %0*d", et.epoch + 1, (unsigned long) et_who(), i,
               i % 200 + 1, 7);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    return et_run();
}
