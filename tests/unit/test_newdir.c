/* tests/unit/test_newdir.c - lib/io/newdir: a directory appears whole, or not at all.
 *
 * What is there afterwards is looked at with the C library; the rules are those of newdir.h and of
 * docs/design.md ("Output").
 */
#include "io/newdir.h"

#include "io/lock.h"
#include "io_fixture.h"
#include "refuse_call.h"

#include <errno.h>

TestSuite(newdir, .init = enter_folder, .fini = leave_folder);

static struct embi_newdir *dir;

static emb_status begin(const char *path, unsigned mode)
{
    return embi_newdir_open(&env, path, EMBI_IO_WRITE | mode, &dir, &err);
}

/* Makes a directory that holds the one file `f`; the first status that is not EMB_OK. */
static emb_status make(const char *path, unsigned mode, const char *text)
{
    emb_status status = begin(path, mode);
    if (status)
        return status;
    status = embi_newdir_add(dir, "f", text, strlen(text), &err);
    if (!status)
        status = embi_newdir_commit(dir, &err);
    embi_newdir_close(dir);
    return status;
}

static void put_old(const char *path)
{
    char file[100];
    cr_assert_eq(mkdir(path, 0750), 0);
    snprintf(file, sizeof file, "%s/old", path);
    put_file(file, "old");
}

Test(newdir, appears_with_the_commit)
{
    cr_assert_eq(begin("d", 0), EMB_OK);
    cr_assert_eq(embi_newdir_add(dir, "f", "text", 4, &err), EMB_OK);
    cr_assert_neq(access("d", F_OK), 0);
    cr_assert_eq(entries("."), 1); /* the temporary one */
    cr_assert_eq(entries(embi_newdir_path(dir)), 1);
    cr_assert_eq(embi_newdir_commit(dir, &err), EMB_OK);
    embi_newdir_close(dir);
    cr_assert(text_is("d/f", "text"));
    cr_assert_eq(entries("d"), 1);
    cr_assert_eq(entries("."), 1);
    cr_assert_eq(mode_of("d"), 0755);
}

Test(newdir, nothing_is_left_without_a_commit)
{
    char path[200];
    cr_assert_eq(begin("d", 0), EMB_OK);
    cr_assert_eq(embi_newdir_add(dir, "f", "text", 4, &err), EMB_OK);
    snprintf(path, sizeof path, "%s/deep", embi_newdir_path(dir));
    put_old(path);
    embi_newdir_close(dir);
    cr_assert_eq(entries("."), 0);
    embi_newdir_close(NULL);
}

Test(newdir, what_is_there_needs_force)
{
    static const unsigned syncs[] = {0, EMBI_IO_SYNC, EMBI_IO_NO_SYNC};
    for (size_t i = 0; i < EMBI_LEN(syncs); i++) {
        put_old("d");
        cr_assert_eq(make("d", syncs[i], "new"), EMB_EXISTS);
        cr_assert_str_eq(err.msg, "exists; --force overwrites it");
        cr_assert(text_is("d/old", "old"));
        cr_assert_eq(make("d", syncs[i] | EMBI_IO_FORCE, "new"), EMB_OK);
        cr_assert(text_is("d/f", "new"));
        cr_assert_eq(entries("d"), 1);
        cr_assert_eq(mode_of("d"), 0750);
        cr_assert_eq(entries("."), 1);
        cr_assert_eq(system("rm -r d"), 0);
    }
}

/* Who is in the old directory stays there. */
Test(newdir, old_directory_is_exchanged_and_removed_whole)
{
    cr_assert_eq(mkdir("outside", 0755), 0);
    put_file("outside/kept", "kept");
    put_old("d");
    put_old("d/deep");
    cr_assert_eq(symlink("../outside", "d/link"), 0);
    cr_assert_eq(symlink("nowhere", "d/deep/broken"), 0);
    int old = open("d/old", O_RDONLY);
    cr_assert_eq(make("d", EMBI_IO_FORCE, "new"), EMB_OK);
    char text[4] = "";
    cr_assert_eq(read(old, text, 3), 3);
    close(old);
    cr_assert_str_eq(text, "old");
    cr_assert_eq(entries("d"), 1);
    cr_assert(text_is("outside/kept", "kept"));
    cr_assert_eq(entries("."), 2);
}

Test(newdir, empty_directory_is_as_good_as_none)
{
    cr_assert_eq(mkdir("d", 0700), 0);
    cr_assert_eq(make("d", 0, "new"), EMB_OK);
    cr_assert(text_is("d/f", "new"));
    cr_assert_eq(mode_of("d"), 0700);
    cr_assert_eq(entries("."), 1);
}

Test(newdir, targets_that_are_refused)
{
    put_file("file", "text");
    put_old("d");
    cr_assert_eq(chdir("d"), 0);
    static const struct {
        const char *path;
        emb_status status;
    } cases[] = {{"../file", EMB_EXISTS}, {".", EMB_BAD_ARG}, {"..", EMB_BAD_ARG},
                 {"./", EMB_BAD_ARG},     {"/", EMB_BAD_ARG}, {"", EMB_BAD_ARG},
                 {"no/d", EMB_IO},        {"old/d", EMB_IO},  {"../d/.", EMB_BAD_ARG},
                 {"../d/..", EMB_BAD_ARG}};
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        cr_assert_eq(make(cases[i].path, EMBI_IO_FORCE, "x"), cases[i].status, "'%s': %d %s",
                     cases[i].path, err.status, err.msg);
    cr_assert_eq(entries("."), 1);
    cr_assert_eq(entries(".."), 2);
    cr_assert(text_is("../file", "text"));
}

Test(newdir, slashes_and_links)
{
    struct stat st;
    cr_assert_eq(make("a//", 0, "first"), EMB_OK);
    cr_assert(text_is("a/f", "first"));
    cr_assert_eq(mkdir("real", 0755), 0);
    put_old("real/d");
    cr_assert_eq(symlink("real/d", "link"), 0);
    cr_assert_eq(make("link/", 0, "second"), EMB_EXISTS);
    cr_assert_eq(make("link/", EMBI_IO_FORCE, "second"), EMB_OK);
    cr_assert(text_is("real/d/f", "second"));
    cr_assert(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    char absolute[100];
    snprintf(absolute, sizeof absolute, "%s/b", folder);
    cr_assert_eq(make(absolute, 0, "third"), EMB_OK);
    cr_assert(text_is("b/f", "third"));
    cr_assert_eq(symlink("gone", "broken"), 0);
    cr_assert_eq(make("broken", 0, "x"), EMB_EXISTS);
    cr_assert_eq(entries("real"), 1);
    cr_assert_eq(entries("."), 5);
}

/* Between the beginning and the commit others may be busy with the same name. */
Test(newdir, what_appears_meanwhile_is_not_replaced)
{
    cr_assert_eq(begin("d", 0), EMB_OK);
    put_old("d");
    cr_assert_eq(embi_newdir_commit(dir, &err), EMB_EXISTS);
    embi_newdir_close(dir);
    cr_assert(text_is("d/old", "old"));

    cr_assert_eq(mkdir("e", 0755), 0);
    cr_assert_eq(begin("e", 0), EMB_OK);
    put_file("e/late", "late");
    cr_assert_eq(embi_newdir_commit(dir, &err), EMB_EXISTS);
    embi_newdir_close(dir);
    cr_assert(text_is("e/late", "late"));
    cr_assert_eq(entries("."), 2);
}

Test(newdir, what_goes_away_meanwhile_is_no_loss)
{
    put_old("d");
    cr_assert_eq(begin("d", EMBI_IO_FORCE), EMB_OK);
    cr_assert_eq(system("rm -r d"), 0);
    cr_assert_eq(embi_newdir_commit(dir, &err), EMB_OK);
    embi_newdir_close(dir);
    cr_assert_eq(entries("d"), 0);
    cr_assert_eq(entries("."), 1);
}

/* A run that replaces the directory, and one that is at work in it, keep apart. */
Test(newdir, what_is_replaced_is_locked)
{
    struct embi_newdir *second;
    int lock;
    put_old("d");
    cr_assert_eq(begin("d", EMBI_IO_FORCE), EMB_OK);
    cr_assert_eq(embi_lock_dir(AT_FDCWD, "d", false, &lock, &err), EMB_IO);
    cr_assert_eq(embi_newdir_open(&env, "d", EMBI_IO_WRITE | EMBI_IO_FORCE, &second, &err), EMB_IO);
    cr_assert_eq(err.sys, EWOULDBLOCK);
    cr_assert_not_null(strstr(err.msg, "another run"));
    cr_assert_eq(entries("."), 2); /* the first one's alone is beside it */
    embi_newdir_close(dir);
    cr_assert_eq(embi_lock_dir(AT_FDCWD, "d", true, &lock, &err), EMB_OK);
    cr_assert_eq(begin("d", EMBI_IO_FORCE), EMB_IO);
    cr_assert_eq(make("d", EMBI_IO_FORCE | EMBI_IO_EXCHANGE, "mine"), EMB_OK, "%s", err.msg);
    cr_assert(text_is("d/f", "mine"));
    cr_assert_eq(make("d", EMBI_IO_FORCE, "next"), EMB_OK, "%s", err.msg);
    cr_assert(text_is("d/f", "next"));
    embi_unlock(lock);
    cr_assert_eq(entries("."), 1);
}

/* Only what was there, and locked, is replaced. */
Test(newdir, what_is_replaced_meanwhile_is_not_replaced)
{
    static const unsigned modes[] = {0, EMBI_IO_EXCHANGE};
    for (size_t i = 0; i < EMBI_LEN(modes); i++) {
        put_old("d");
        cr_assert_eq(begin("d", EMBI_IO_FORCE | modes[i]), EMB_OK);
        cr_assert_eq(rename("d", "away"), 0);
        put_old("d");
        cr_assert_eq(embi_newdir_commit(dir, &err), EMB_IO);
        cr_assert_not_null(strstr(err.msg, "replaced by another run meanwhile"));
        embi_newdir_close(dir);
        cr_assert(text_is("d/old", "old") && text_is("away/old", "old"));
        cr_assert_eq(entries("."), 2);
        cr_assert_eq(system("rm -r d away"), 0);
    }
}

Test(newdir, system_without_renameat2)
{
    static const int refusals[] = {EINVAL, ENOSYS};
    for (size_t i = 0; i < EMBI_LEN(refusals); i++) {
        if (!refuse_call(SYS_renameat2, 0, 0, refusals[i]))
            cr_skip("no seccomp here");
        cr_assert_eq(make("d", 0, "first"), EMB_OK);
        cr_assert(text_is("d/f", "first"));
        cr_assert_eq(make("d", 0, "x"), EMB_EXISTS);
        cr_assert_eq(make("d", EMBI_IO_FORCE, "second"), EMB_OK);
        cr_assert(text_is("d/f", "second"));
        cr_assert_eq(begin("e", 0), EMB_OK);
        put_old("e");
        cr_assert_eq(embi_newdir_commit(dir, &err), EMB_EXISTS);
        embi_newdir_close(dir);
        cr_assert(text_is("e/old", "old"));
        cr_assert_eq(entries("."), 2);
        cr_assert_eq(system("rm -r d e"), 0);
    }
}

/* What fails after the last file leaves the old directory, and nothing of the new one. */
Test(newdir, failed_sync_and_rename)
{
    put_old("d");
    if (!refuse_call(SYS_fsync, 1, 0, EIO))
        cr_skip("no seccomp here");
    cr_assert_eq(make("d", EMBI_IO_FORCE, "x"), EMB_IO);
    cr_assert_eq(err.sys, EIO);
    cr_assert_eq(make("e", EMBI_IO_SYNC, "x"), EMB_IO);
    cr_assert(refuse_call(SYS_renameat2, 0, 0, EACCES));
    cr_assert_eq(make("d", EMBI_IO_FORCE | EMBI_IO_NO_SYNC, "x"), EMB_IO);
    cr_assert_eq(err.sys, EACCES);
    cr_assert_eq(make("e", 0, "x"), EMB_IO);
    cr_assert(refuse_call(SYS_mkdirat, 0, 0, EROFS));
    cr_assert_eq(make("e", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, EROFS);
    cr_assert(text_is("d/old", "old"));
    cr_assert_eq(entries("."), 1);
}

/* What is mounted has its name outside of the file system. */
Test(newdir, where_something_is_mounted)
{
    put_old("d");
    if (!refuse_call(SYS_renameat2, 0, 0, EBUSY))
        cr_skip("no seccomp here");
    cr_assert_eq(make("d", EMBI_IO_FORCE | EMBI_IO_NO_SYNC, "x"), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "a file system is mounted"));
    cr_assert_eq(make("/proc", EMBI_IO_FORCE, "x"), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "a file system is mounted"));
    cr_assert_eq(entries("."), 1);
}

/* Permissions stay, and what their owner may not write to is removed with what is in it. */
Test(newdir, a_directory_without_write_permission)
{
    cr_assert_eq(chmod(".", 0777), 0);
    if (geteuid() == 0 && seteuid(65534) != 0)
        cr_skip("no other user here");
    put_old("d");
    cr_assert_eq(mkdir("d/in", 0755), 0); /* no shell: it would go back to the real user */
    put_file("d/in/f", "x");
    cr_assert(chmod("d/in", 0555) == 0 && chmod("d", 0550) == 0);
    cr_assert_eq(make("d", EMBI_IO_FORCE, "new"), EMB_OK, "%s", err.msg);
    cr_assert_eq(mode_of("d"), 0550);
    cr_assert(text_is("d/f", "new"));
    cr_assert_eq(entries("."), 1);
    cr_assert_eq(begin("d", EMBI_IO_FORCE), EMB_OK);
    embi_newdir_close(dir);
    cr_assert_eq(mode_of("d"), 0550);
    cr_assert_eq(entries("."), 1);
    cr_assert_eq(chmod("d", 0750), 0);
}

static unsigned seen(const char *path)
{
    unsigned bits = 99;
    cr_assert_eq(embi_dir_look(path, &bits, &err), EMB_OK);
    return bits;
}

Test(newdir, look)
{
    cr_assert_eq(seen("d"), 0);
    cr_assert_eq(mkdir("d", 0755), 0);
    cr_assert_eq(seen("d"), 0);
    put_file("d/f", "");
    cr_assert_eq(seen("d"), EMBI_DIR_FILES);
    cr_assert_eq(seen("d/f"), 0);
    cr_assert_eq(symlink(".", "d/link"), 0); /* a link is no folder */
    cr_assert_eq(seen("d"), EMBI_DIR_FILES);
    cr_assert_eq(mkdir("d/e", 0755), 0);
    cr_assert_eq(seen("d"), EMBI_DIR_FILES | EMBI_DIR_FOLDERS);
}

/* ------------------------------------------------------------------------------------------------
 * What a program that may be ended is told
 */
enum { TOLD_MAX = 4 };
static const char *told[TOLD_MAX];

static void take_name(void *arg, const char *path, bool there)
{
    sigset_t blocked;
    (void)arg;
    cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    cr_assert(sigismember(&blocked, SIGTERM));
    cr_assert(!there || access(path, F_OK) == 0);
    for (int i = 0; i < TOLD_MAX; i++)
        if (told[i] == (there ? NULL : path)) {
            told[i] = there ? path : NULL;
            return;
        }
    cr_assert_fail("a name too many, or gone twice");
}

static int count_told(void)
{
    int n = 0;
    for (int i = 0; i < TOLD_MAX; i++)
        n += told[i] != NULL;
    return n;
}

static const struct embi_env telling = {.temp = take_name};

static void check_told(unsigned mode)
{
    cr_assert_eq(embi_newdir_open(&telling, "d", EMBI_IO_WRITE | mode, &dir, &err), EMB_OK);
    cr_assert_eq(count_told(), 1);
    cr_assert_eq(embi_newdir_add(dir, "f", "x", 1, &err), EMB_OK);
    cr_assert_eq(embi_newdir_commit(dir, &err), EMB_OK);
    cr_assert_eq(count_told(), 0);
    embi_newdir_close(dir);
    cr_assert_eq(count_told(), 0);
    cr_assert(text_is("d/f", "x"));
    cr_assert_eq(entries("."), 1);
}

Test(newdir, tells_its_temporary_names)
{
    check_told(0);
    check_told(EMBI_IO_FORCE);
    if (!refuse_call(SYS_renameat2, 0, 0, EINVAL))
        cr_skip("no seccomp here");
    check_told(EMBI_IO_FORCE);
}

/* As the handler of a signal does it, in the middle. */
Test(newdir, a_temporary_directory_is_removed_by_its_name)
{
    cr_assert_eq(embi_newdir_open(&telling, "d", EMBI_IO_WRITE, &dir, &err), EMB_OK);
    cr_assert_eq(embi_newdir_add(dir, "f", "x", 1, &err), EMB_OK);
    emb_temp_remove(told[0]);
    cr_assert_eq(entries("."), 0);
    cr_assert_eq(embi_newdir_commit(dir, &err), EMB_IO);
    embi_newdir_close(dir);
    cr_assert_eq(count_told(), 0);
}
