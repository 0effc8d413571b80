/* The sum of a tall matrix stored by rows, taken down the columns (P) or along the rows (N). One operation is one element.
 *
 * Down a column every element is in another line, and the lines of one column are too many for the caches to hold until
 * the next column wants them.
 */
#include "../program.h"

#define WIDTH 125 /* rows of 1000 bytes: a power of two would fill a few sets of the cache only, another pathology */

struct matrix {
    double *elements;
    uint64_t fast, n_fast, slow, n_slow, fast_stride, slow_stride;
};

void *prepare(const struct options *options)
{
    struct matrix *matrix = allocate(sizeof *matrix);
    uint64_t height = options->size / (WIDTH * sizeof(double));

    height = height ? height : 1;
    matrix->elements = allocate(height * WIDTH * sizeof *matrix->elements);
    for (uint64_t i = 0; i < height * WIDTH; i++)
        matrix->elements[i] = (double)((i ^ options->seed) & 0xFF);
    matrix->fast = matrix->slow = 0;
    matrix->n_fast = options->pathological ? height : WIDTH;
    matrix->n_slow = options->pathological ? WIDTH : height;
    matrix->fast_stride = options->pathological ? WIDTH : 1;
    matrix->slow_stride = options->pathological ? 1 : WIDTH;
    return matrix;
}

uint64_t execute(void *state, uint64_t operations)
{
    struct matrix *matrix = state;
    double sum = 0;

    while (operations) {
        uint64_t left = matrix->n_fast - matrix->fast, part = left < operations ? left : operations;
        const double *element = matrix->elements + matrix->slow * matrix->slow_stride + matrix->fast * matrix->fast_stride;

        for (uint64_t i = 0; i < part; i++, element += matrix->fast_stride)
            sum += *element;
        operations -= part;
        matrix->fast += part;
        if (matrix->fast == matrix->n_fast) {
            matrix->fast = 0;
            matrix->slow = matrix->slow + 1 < matrix->n_slow ? matrix->slow + 1 : 0;
        }
    }
    return (uint64_t)sum;
}
