/* Runs a command whose n-th operation on the files of a folder fails, or ends the process. For
 * tests, on Linux; the command itself needs nothing for it, so release builds can be tested, too.
 *
 *     faults FOLDER HOW N LOG COMMAND ARGUMENT...
 *
 * Counted are the operations that change files of FOLDER: creating a file or a folder, writing,
 * giving it another length, syncing, renaming, linking. They are counted over all threads. HOW is
 *
 *     list   nothing fails
 *     fail   operation N fails: the device has an error
 *     keep   from operation N on nothing can be created, renamed or linked: the file system is
 *            read-only
 *     full   from operation N on, what takes room on the disk fails: there is none
 *     half   operation N ends the process; if it writes, after half of it is written
 *     stop   operation N ends the process before it begins
 *
 * LOG gets a line for each operation up to the first that fails: its kind and its path. The exit
 * status is that of the command; 99 says that the system does not let one process watch another.
 *
 * A filter of system calls stops the command at those that may count; ptrace tells which file each
 * is about, and skips it or shortens it. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_ALLOWED = 99 };

/* How an operation names its file: by a descriptor, or by a path in an argument, perhaps relative
 * to the descriptor before it. */
enum place { BY_FILE, BY_PATH, BY_PATH_AT };

struct operation {
    long number;
    const char *kind;
    enum place place;
    int argument;
    /* The argument with a length that can be halved; none: -1. */
    int length;
    int takes_room;
};

static const struct operation OPERATIONS[] = {
#ifdef SYS_open
    {SYS_open, "create", BY_PATH, 0, -1, 1},
    {SYS_mkdir, "create", BY_PATH, 0, -1, 1},
    {SYS_rename, "rename", BY_PATH, 1, -1, 0},
    {SYS_link, "link", BY_PATH, 1, -1, 1},
#endif
    {SYS_openat, "create", BY_PATH_AT, 1, -1, 1},
    {SYS_mkdirat, "create", BY_PATH_AT, 1, -1, 1},
    {SYS_renameat2, "rename", BY_PATH_AT, 3, -1, 0},
#ifdef SYS_renameat
    {SYS_renameat, "rename", BY_PATH_AT, 3, -1, 0},
#endif
    {SYS_linkat, "link", BY_PATH_AT, 3, -1, 1},
    {SYS_write, "write", BY_FILE, 0, 2, 1},
    {SYS_pwrite64, "write", BY_FILE, 0, 2, 1},
    {SYS_writev, "write", BY_FILE, 0, -1, 1},
    {SYS_copy_file_range, "write", BY_FILE, 2, 4, 1},
    {SYS_sendfile, "write", BY_FILE, 0, 3, 1},
    {SYS_ftruncate, "resize", BY_FILE, 0, -1, 1},
    {SYS_fallocate, "resize", BY_FILE, 0, -1, 1},
    {SYS_fsync, "sync", BY_FILE, 0, -1, 0},
    {SYS_fdatasync, "sync", BY_FILE, 0, -1, 0},
};
enum { N_OPERATIONS = sizeof OPERATIONS / sizeof *OPERATIONS };

#if defined __x86_64__
typedef struct user_regs_struct registers;
enum { ARCHITECTURE = AUDIT_ARCH_X86_64 };
static long number_of(const registers *at) { return (long)at->orig_rax; }
static unsigned long long *argument_of(registers *at, int which) {
    unsigned long long *of[] = {&at->rdi, &at->rsi, &at->rdx, &at->r10, &at->r8, &at->r9};
    return of[which];
}
static void skip(pid_t thread, registers *at, int error) {
    (void)thread;
    at->orig_rax = (unsigned long long)-1;
    at->rax = (unsigned long long)-error;
}
#elif defined __aarch64__
typedef struct user_regs_struct registers;
enum { ARCHITECTURE = AUDIT_ARCH_AARCH64 };
static long number_of(const registers *at) { return (long)at->regs[8]; }
static unsigned long long *argument_of(registers *at, int which) { return &at->regs[which]; }
static void skip(pid_t thread, registers *at, int error) {
    int none = -1;
    struct iovec vector = {&none, sizeof none};
    ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &vector);
    at->regs[0] = (unsigned long long)-error;
}
#else
#error "registers of this kind of machine are not known here"
#endif

static void become(char **command) {
    struct sock_filter filter[3 + 2 * N_OPERATIONS + 1];
    int length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, 2 * N_OPERATIONS + 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int at = 0; at < N_OPERATIONS; at++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)OPERATIONS[at].number, 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)length, filter};
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
        _exit(NOT_ALLOWED);
    raise(SIGSTOP);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(NOT_ALLOWED);
    execvp(command[0], command);
    _exit(NOT_ALLOWED);
}

/* The target of a link under /proc. */
static int read_link(char *path, pid_t thread, const char *format, long number) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/", (int)thread);
    snprintf(link + strlen(link), sizeof link - strlen(link), format, number);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static int read_text(char *text, pid_t thread, unsigned long long address) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/mem", (int)thread);
    int memory = open(name, O_RDONLY);
    ssize_t length = memory < 0 ? -1 : pread(memory, text, PATH_MAX - 1, (off_t)address);
    if (memory >= 0)
        close(memory);
    text[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* The path of the file that an operation is about; 0 if it has none. */
static int path_of(char *path, pid_t thread, registers *at, const struct operation *operation) {
    unsigned long long value = *argument_of(at, operation->argument);
    if (operation->place == BY_FILE)
        return read_link(path, thread, "fd/%ld", (long)value);
    char typed[PATH_MAX];
    if (!read_text(typed, thread, value) || !typed[0])
        return 0;
    if (typed[0] == '/') {
        strcpy(path, typed);
        return 1;
    }
    int folder = operation->place == BY_PATH ? AT_FDCWD : (int)*argument_of(at, operation->argument - 1);
    int is_known = folder == AT_FDCWD ? read_link(path, thread, "cwd", 0) : read_link(path, thread, "fd/%ld", folder);
    size_t length = strlen(path);
    return is_known && snprintf(path + length, PATH_MAX - length, "/%s", typed) > 0;
}

/* Whether an operation counts: opening only creates what is not there. */
static int counts(registers *at, const struct operation *operation, const char *path, const char *folder) {
    size_t length = strlen(folder);
    if (strncmp(path, folder, length) != 0 || path[length] != '/')
        return 0;
    int is_open = operation->number == SYS_openat;
    int flags = is_open ? (int)*argument_of(at, 2) : 0;
#ifdef SYS_open
    if (operation->number == SYS_open) {
        is_open = 1;
        flags = (int)*argument_of(at, 1);
    }
#endif
    if (!is_open || (flags & O_TMPFILE) == O_TMPFILE)
        return 1;
    return (flags & O_CREAT) && (access(path, F_OK) != 0 || (flags & O_TRUNC));
}

int main(int n_words, char **words) {
    if (n_words < 6)
        return 2;
    const char *folder = words[1], *how = words[2];
    long wanted = atol(words[3]), n = 0;
    FILE *log = fopen(words[4], "w");
    if (!log)
        return 2;
    pid_t child = fork();
    if (child == 0)
        become(words + 5);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return NOT_ALLOWED;
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, options) != 0)
        return NOT_ALLOWED;
    ptrace(PTRACE_CONT, child, 0, 0);
    int exit_status = NOT_ALLOWED, ends = 0;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0)
            break;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == child)
                exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        if (signal == (SIGTRAP | 0x80) && ends) {
            /* The half is written. */
            kill(child, SIGKILL);
            continue;
        }
        if (event == PTRACE_EVENT_SECCOMP) {
            registers at;
            struct iovec vector = {&at, sizeof at};
            char path[2 * PATH_MAX];
            const struct operation *operation = NULL;
            if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &vector) == 0)
                for (int which = 0; which < N_OPERATIONS; which++)
                    if (OPERATIONS[which].number == number_of(&at))
                        operation = &OPERATIONS[which];
            if (operation && path_of(path, thread, &at, operation) && counts(&at, operation, path, folder)) {
                n++;
                int is_it = n == wanted && strcmp(how, "list") != 0;
                int is_full = strcmp(how, "full") == 0 && n >= wanted;
                if (n <= wanted || strcmp(how, "list") == 0)
                    fprintf(log, "%s %s\n", operation->kind, path);
                int is_kept = strcmp(how, "keep") == 0 && n >= wanted && operation->place != BY_FILE;
                if ((is_it && strcmp(how, "fail") == 0) || (is_full && operation->takes_room) || is_kept) {
                    skip(thread, &at, is_full ? ENOSPC : is_kept ? EROFS : EIO);
                    ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &vector);
                } else if (is_it && strcmp(how, "full") != 0 && !is_kept) {
                    if (strcmp(how, "half") == 0 && operation->length >= 0) {
                        *argument_of(&at, operation->length) /= 2;
                        ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &vector);
                        ends = 1;
                        ptrace(PTRACE_SYSCALL, thread, 0, 0);
                    } else {
                        kill(child, SIGKILL);
                    }
                    continue;
                }
            }
            ptrace(PTRACE_CONT, thread, 0, 0);
            continue;
        }
        /* A new thread begins with a stop; other signals are passed on. */
        int is_own = event != 0 || signal == SIGTRAP || signal == SIGSTOP;
        ptrace(PTRACE_CONT, thread, 0, is_own ? 0 : signal);
    }
    fclose(log);
    return exit_status;
}
