/* Lets calls to the C library fail, of the program that this is loaded into (LD_PRELOAD): the n-th of a kind, or those
 * from the n-th on. What it did stands in a file that the test maps: how many calls of the kind came, and of which
 * descriptor the one was that failed.
 *
 * FAULT_FILE names that file. FAULT_KIND is one of the letters below, FAULT_FROM the first that fails, FAULT_UNTIL the
 * last, FAULT_ERROR the error. Without an error they are not refused, but do less than was asked for. Whoever was
 * interrupted asks again, so that only every other call is. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct { unsigned calls, failed; int of; } *told;
static char kind;
static unsigned from, until;
static int error;

static unsigned number(const char *name) {
    const char *value = getenv(name);
    return value ? strtoul(value, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FAULT_FILE"), *wanted = getenv("FAULT_KIND");
    if (!file || !wanted) return;
    from = number("FAULT_FROM");
    until = number("FAULT_UNTIL");
    error = number("FAULT_ERROR");
    int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    void *at = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (at == MAP_FAILED) _exit(99);
    told = at;
    kind = *wanted;
}

/* Whether this call is one that fails. */
static int fails(char of, int fd) {
    if (of != kind) return 0;
    unsigned call = __atomic_add_fetch(&told->calls, 1, __ATOMIC_SEQ_CST);
    if (call < from || call > until || (error == EINTR && call % 2 == 0)) return 0;
    __atomic_add_fetch(&told->failed, 1, __ATOMIC_SEQ_CST);
    told->of = fd;
    errno = error;
    return 1;
}

/* How much of so much is done where less is to be done: one byte, half, one byte … */
static size_t less(size_t size) {
    return size < 2 || told->calls % 2 ? size != 0 : size / 2;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* m: memory. By the C library's own names: dlsym asks for memory. */
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void *malloc(size_t size) { return fails('m', -1) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails('m', -1) ? NULL : __libc_calloc(n, size); }
void *realloc(void *at, size_t size) { return fails('m', -1) ? NULL : __libc_realloc(at, size); }
void *memalign(size_t align, size_t size) { return fails('m', -1) ? NULL : __libc_memalign(align, size); }
void *aligned_alloc(size_t align, size_t size) { return fails('m', -1) ? NULL : __libc_memalign(align, size); }
int posix_memalign(void **at, size_t align, size_t size) {
    if (fails('m', -1)) return ENOMEM;
    *at = __libc_memalign(align, size);
    return *at ? 0 : ENOMEM;
}

/* r and w: reading and writing. */
#define TRANSFER(of, name, type, ...) \
    REAL(name); \
    if (fails(of, fd)) { \
        if (error) return -1; \
        size = less(size); \
    } \
    return real(fd, at, size, ##__VA_ARGS__)
ssize_t read(int fd, void *at, size_t size) { TRANSFER('r', read, void *); }
ssize_t pread(int fd, void *at, size_t size, off_t where) { TRANSFER('r', pread, void *, where); }
ssize_t pread64(int fd, void *at, size_t size, off64_t where) { TRANSFER('r', pread64, void *, where); }
ssize_t recv(int fd, void *at, size_t size, int flags) { TRANSFER('r', recv, void *, flags); }
ssize_t write(int fd, const void *at, size_t size) { TRANSFER('w', write, const void *); }
ssize_t pwrite(int fd, const void *at, size_t size, off_t where) { TRANSFER('w', pwrite, const void *, where); }
ssize_t pwrite64(int fd, const void *at, size_t size, off64_t where) { TRANSFER('w', pwrite64, const void *, where); }
ssize_t send(int fd, const void *at, size_t size, int flags) { TRANSFER('w', send, const void *, flags); }

/* Of several pieces the first is one piece less. */
#define PIECES(of, name) \
    REAL(name); \
    if (fails(of, fd)) { \
        if (error) return -1; \
        struct iovec one = {at->iov_base, less(at->iov_len)}; \
        if (n > 0 && one.iov_len > 0) return real(fd, &one, 1); \
    } \
    return real(fd, at, n)
ssize_t readv(int fd, const struct iovec *at, int n) { PIECES('r', readv); }
ssize_t writev(int fd, const struct iovec *at, int n) { PIECES('w', writev); }

/* o: whatever gives a descriptor. */
#define OPEN(name, ...) \
    REAL(name); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        __builtin_va_list rest; \
        __builtin_va_start(rest, flags); \
        mode = __builtin_va_arg(rest, mode_t); \
        __builtin_va_end(rest); \
    } \
    return fails('o', -1) ? -1 : real(__VA_ARGS__, flags, mode)
int open(const char *path, int flags, ...) { OPEN(open, path); }
int open64(const char *path, int flags, ...) { OPEN(open64, path); }
int openat(int at, const char *path, int flags, ...) { OPEN(openat, at, path); }
int openat64(int at, const char *path, int flags, ...) { OPEN(openat64, at, path); }
DIR *opendir(const char *path) {
    REAL(opendir);
    return fails('o', -1) ? NULL : real(path);
}
int socket(int domain, int type, int protocol) {
    REAL(socket);
    return fails('o', -1) ? -1 : real(domain, type, protocol);
}
int socketpair(int domain, int type, int protocol, int fds[2]) {
    REAL(socketpair);
    return fails('o', -1) ? -1 : real(domain, type, protocol, fds);
}
int fcntl(int fd, int what, ...) {
    REAL(fcntl);
    __builtin_va_list rest;
    __builtin_va_start(rest, what);
    void *with = __builtin_va_arg(rest, void *);
    __builtin_va_end(rest);
    return what == F_DUPFD_CLOEXEC && fails('o', fd) ? -1 : real(fd, what, with);
}
int fcntl64(int fd, int what, ...) {
    REAL(fcntl64);
    __builtin_va_list rest;
    __builtin_va_start(rest, what);
    void *with = __builtin_va_arg(rest, void *);
    __builtin_va_end(rest);
    return what == F_DUPFD_CLOEXEC && fails('o', fd) ? -1 : real(fd, what, with);
}

/* a: questions about files, and the ways through them. */
int statx(int at, const char *path, int flags, unsigned mask, struct statx *into) {
    REAL(statx);
    return fails('a', at) ? -1 : real(at, path, flags, mask, into);
}
off64_t lseek64(int fd, off64_t by, int whence) {
    REAL(lseek64);
    return fails('a', fd) ? -1 : real(fd, by, whence);
}
struct dirent64 *readdir64(DIR *folder) {
    REAL(readdir64);
    return fails('a', -1) ? NULL : real(folder);
}
char *realpath(const char *path, char *into) {
    REAL(realpath);
    return fails('a', -1) ? NULL : real(path, into);
}
char *getcwd(char *into, size_t size) {
    REAL(getcwd);
    return fails('a', -1) ? NULL : real(into, size);
}
ssize_t readlink(const char *path, char *into, size_t size) {
    REAL(readlink);
    return fails('a', -1) ? -1 : real(path, into, size);
}

/* p: what brings a file to the disk and into its place. */
#define PLACE(...) return fails('p', -1) ? -1 : real(__VA_ARGS__)
int fsync(int fd) { REAL(fsync); PLACE(fd); }
int fdatasync(int fd) { REAL(fdatasync); PLACE(fd); }
int rename(const char *old, const char *new) { REAL(rename); PLACE(old, new); }
int linkat(int a, const char *old, int b, const char *new, int flags) { REAL(linkat); PLACE(a, old, b, new, flags); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); PLACE(path, mode); }
int fchmod(int fd, mode_t mode) { REAL(fchmod); PLACE(fd, mode); }
int fchown(int fd, uid_t user, gid_t group) { REAL(fchown); PLACE(fd, user, group); }
int ftruncate64(int fd, off64_t size) { REAL(ftruncate64); PLACE(fd, size); }

/* t: threads. */
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    REAL(pthread_create);
    return fails('t', -1) ? error : real(thread, how, run, with);
}
