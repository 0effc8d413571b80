/* The header's functions as a library, for regions of Python programs. */
#include "cmlib_region.h"
