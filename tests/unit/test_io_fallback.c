/* tests/unit/test_io_fallback.c - lib/io, writing where the system lacks something: files without a
 * name, rename without replacing, /proc; and where a late step fails.
 *
 * The kernel itself is made to refuse, by a seccomp filter on the test's own process.
 */
#include "io_fixture.h"
#include "refuse_call.h"

#include <errno.h>

TestSuite(fallback, .init = enter_folder, .fini = leave_folder);

/* All that a named temporary file has to do as well as one without a name. */
static void check_named(void)
{
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append("some", 4), EMB_OK);
    cr_assert_eq(entries("."), 1); /* the temporary name: the refusal has worked */
    cr_assert_neq(access("f", F_OK), 0);
    embi_io_close(io);
    cr_assert_eq(entries("."), 0);

    cr_assert_eq(write_text("f", 0, "first"), EMB_OK);
    cr_assert(text_is("f", "first"));
    cr_assert_eq(mode_of("f"), 0644);
    cr_assert_eq(write_text("f", 0, "second"), EMB_EXISTS);
    cr_assert_eq(chmod("f", 0604), 0);
    cr_assert_eq(write_text("f", EMBI_IO_FORCE, "third"), EMB_OK);
    cr_assert(text_is("f", "third"));
    cr_assert_eq(mode_of("f"), 0604);
    cr_assert_eq(entries("."), 1);

    cr_assert_eq(embi_io_open(&env, "g", EMBI_IO_WRITE, &io, &err), EMB_OK);
    put_file("g", "theirs");
    cr_assert_eq(io->scheme->commit(io, &err), EMB_EXISTS);
    embi_io_close(io);
    cr_assert(text_is("g", "theirs"));
    cr_assert_eq(entries("."), 2);
}

Test(fallback, no_unnamed_files)
{
    if (!refuse_call(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP))
        cr_skip("no seccomp here");
    check_named();
}

/* Kernels before 3.11 take O_TMPFILE for O_DIRECTORY. */
Test(fallback, unnamed_files_unknown_to_the_kernel)
{
    if (!refuse_call(SYS_openat, 2, O_TMPFILE, EISDIR))
        cr_skip("no seccomp here");
    check_named();
}

Test(fallback, no_rename_without_replacing)
{
    if (!refuse_call(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP) ||
        !refuse_call(SYS_renameat2, 4, RENAME_NOREPLACE, EINVAL))
        cr_skip("no seccomp here");
    check_named();
}

Test(fallback, no_proc)
{
    if (!refuse_call(SYS_faccessat, 0, 0, ENOENT) || !refuse_call(SYS_faccessat2, 0, 0, ENOENT))
        cr_skip("no seccomp here");
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(entries("."), 1);
    cr_assert_eq(append("text", 4), EMB_OK);
    cr_assert_eq(io->scheme->commit(io, &err), EMB_OK);
    embi_io_close(io);
    cr_assert(text_is("f", "text"));
    cr_assert_eq(entries("."), 1);
}

/* What fails between the last byte and the name leaves nothing either. */
Test(fallback, failed_sync_link_and_rename)
{
    put_file("old", "old");
    if (!refuse_call(SYS_fsync, 1, 0, EIO))
        cr_skip("no seccomp here");
    cr_assert_eq(write_text("new", EMBI_IO_SYNC, "x"), EMB_IO);
    cr_assert_eq(err.sys, EIO);
    cr_assert_eq(write_text("old", EMBI_IO_FORCE, "x"), EMB_IO);
    cr_assert_eq(write_text("old", EMBI_IO_FORCE | EMBI_IO_NO_SYNC, "newer"), EMB_OK);
    cr_assert_eq(write_text("unsynced", 0, "x"), EMB_OK);
    cr_assert_eq(entries("."), 2);
    cr_assert(refuse_call(SYS_renameat, 0, 0, EACCES));
    cr_assert(refuse_call(SYS_renameat2, 0, 0, EACCES));
    cr_assert_eq(write_text("old", EMBI_IO_FORCE | EMBI_IO_NO_SYNC, "x"), EMB_IO);
    cr_assert_eq(err.sys, EACCES);
    cr_assert(refuse_call(SYS_linkat, 0, 0, EDQUOT));
    cr_assert_eq(write_text("new", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, EDQUOT);
    cr_assert_eq(write_text("old", EMBI_IO_FORCE | EMBI_IO_NO_SYNC, "x"), EMB_IO);
    cr_assert_eq(err.sys, EDQUOT);
    cr_assert(text_is("old", "newer"));
    cr_assert_eq(entries("."), 2);
}
