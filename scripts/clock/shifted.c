// Time of day, shifted for one process and its children: loaded before the C library (LD_PRELOAD), it adds as many seconds to
// CLOCK_REALTIME as SHIFTED_BY_S says. Every other clock goes as it goes, so that pauses and measured times stay true.
//
//   cc -shared -fPIC -O2 -o shifted.so shifted.c && SHIFTED_BY_S=3600 LD_PRELOAD=$PWD/shifted.so date
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static long shift_s;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("SHIFTED_BY_S");
    shift_s = text ? atol(text) : 0;
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real) {
        begin();
    }
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += shift_s;
    }
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
