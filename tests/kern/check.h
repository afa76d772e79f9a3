/* check.h - checks for tests that are plain mains: a check that fails is printed (the first 20 are),
 * and a test is passed if none of its checks failed.
 */
#ifndef EMBTOOL_TESTS_CHECK_H
#define EMBTOOL_TESTS_CHECK_H

#include <stdio.h>

static int failures, passed, failed;

#define CHECK(condition, ...)                                      \
    do {                                                           \
        if (!(condition) && ++failures <= 20) {                    \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__);                                   \
            printf("\n");                                          \
        }                                                          \
    } while (0)

#define RUN(test)                                       \
    do {                                                \
        int before = failures;                          \
        test;                                           \
        *(failures == before ? &passed : &failed) += 1; \
    } while (0)

#endif
