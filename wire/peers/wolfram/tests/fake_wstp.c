/* A libWSTP for tests: the functions that imago_wolfram/wstp.py calls, with the signatures of wstp.h.
 *
 * Behind it stands kernel_player.py: a program that it launches, or one that listens. Between the two go frames of one
 * byte that says what it is, four bytes of length, most significant first, and that many bytes:
 *
 *   A  the player is there, which activates the link      F  a function: four bytes of count, then its name
 *   S  a string   Y  a symbol   I  an integer, as text    R  a real, as text
 *   E  the end of a packet                                M  a message out of band: its code, as one byte
 *   X  an error that the link shall have: its code, as one byte
 *
 * What FAKE_WSTP says in the environment when a link is opened, as words: "slow" (every call takes 50 ms), "hang" (a
 * link is never activated), "refuse" (no link is opened).
 *
 * A caller that breaks a rule of the library finds the first such rule by fake_broken_rule(): a release with another
 * length than that of its string, a text that is not released before the link is closed, WSReady without a WSFlush before
 * it, a kernel that was launched and is not told to end. Two threads in one link at once, and a link that is used after it
 * was closed, end the process, with the rule on standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { DEAD = 1, GSEQ = 3, OVERFLOW = 7, CONNECT = 10, CLOSED = 11, NEXTPACKET = 22, UNKNOWNPACKET = 23,
       GETENDPACKET = 24, PUTSTRING = 32, BADARGV = 33, LAUNCH = 36, BADNAME = 42 };

#define MAGIC 0x57535450
#define CHILD_SOCKET 3
#define TERMINATE_MESSAGE 1

typedef struct { unsigned char *bytes; size_t from, upto, room; } Buffer;
typedef struct { int handles_interrupt; struct sigaction before; } Environment;
typedef struct {
    int magic, socket, error, in_packet, slow, hang, ended, flushed, texts, terminated;
    pid_t child;
    atomic_int callers;
    Buffer in, out;
} Link;
typedef struct { int kind; size_t length; unsigned char *bytes; } Frame;

static void misused(const char *rule)
{
    fprintf(stderr, "fake_wstp: %s\n", rule);
    abort();
}

static const char *broken_rule;

static void broken(const char *rule)
{
    if (broken_rule == NULL) broken_rule = rule;
}

/* The rule that was broken first since this was asked last; NULL where none was. */
const char *fake_broken_rule(void)
{
    const char *rule = broken_rule;
    broken_rule = NULL;
    return rule;
}

static void pause_ms(int milliseconds) { poll(NULL, 0, milliseconds); }

static void enter(Link *link)
{
    if (link->magic != MAGIC) misused("a link is used after it was closed");
    if (atomic_fetch_add(&link->callers, 1) != 0) misused("two threads use one link at once");
    if (link->slow) pause_ms(50);
}

static int leave(Link *link, int result)
{
    atomic_fetch_sub(&link->callers, 1);
    return result;
}

static int fail(Link *link, int error)
{
    if (link->error == 0) link->error = error;
    return 0;
}

/* Bytes, in and out. */

static void make_room(Buffer *buffer, size_t more)
{
    if (buffer->from == buffer->upto) buffer->from = buffer->upto = 0;
    if (buffer->upto + more <= buffer->room) return;
    memmove(buffer->bytes, buffer->bytes + buffer->from, buffer->upto - buffer->from);
    buffer->upto -= buffer->from;
    buffer->from = 0;
    if (buffer->upto + more <= buffer->room) return;
    buffer->room = 2 * (buffer->upto + more);
    buffer->bytes = realloc(buffer->bytes, buffer->room);
}

static void put_frame(Buffer *buffer, int kind, const void *first, size_t first_length, const void *rest, size_t length)
{
    size_t whole = first_length + length;
    unsigned char head[5] = { kind, whole >> 24, whole >> 16, whole >> 8, whole };
    make_room(buffer, 5 + whole);
    memcpy(buffer->bytes + buffer->upto, head, 5);
    if (first_length) memcpy(buffer->bytes + buffer->upto + 5, first, first_length);
    if (length) memcpy(buffer->bytes + buffer->upto + 5 + first_length, rest, length);
    buffer->upto += 5 + whole;
}

static int send_out(Link *link, Buffer *buffer)
{
    while (buffer->from < buffer->upto) {
        ssize_t sent = send(link->socket, buffer->bytes + buffer->from, buffer->upto - buffer->from, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return fail(link, CLOSED);
        buffer->from += sent;
    }
    return 1;
}

/* Reads what is there, or waits for something. False at the end of the stream. */
static int take_in(Link *link, int wait)
{
    if (link->ended) return 0;
    make_room(&link->in, 65536);
    for (;;) {
        ssize_t got = recv(link->socket, link->in.bytes + link->in.upto, link->in.room - link->in.upto, wait ? 0 : MSG_DONTWAIT);
        if (got > 0) { link->in.upto += got; return 1; }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 1;
        link->ended = 1;
        return 0;
    }
}

static int whole_frame(Link *link, Frame *frame)
{
    unsigned char *head = link->in.bytes + link->in.from;
    size_t there = link->in.upto - link->in.from;
    if (there < 5) return 0;
    frame->kind = head[0];
    frame->length = (size_t)head[1] << 24 | head[2] << 16 | head[3] << 8 | head[4];
    frame->bytes = head + 5;
    return there >= 5 + frame->length;
}

static void drop(Link *link, const Frame *frame) { link->in.from += 5 + frame->length; }

/* The frame that comes next, which stays. It waits for one, as the library does in the middle of a packet. */
static int next_frame(Link *link, Frame *frame)
{
    if (link->error) return 0;
    while (!whole_frame(link, frame))
        if (!take_in(link, 1)) return fail(link, CLOSED);
    if (frame->kind != 'X') return 1;
    link->error = frame->bytes[0];
    drop(link, frame);
    return 0;
}

/* Opening and closing. */

static void on_interrupt(int signal_number) { (void)signal_number; }

void *WSInitialize(void *parameters)
{
    Environment *environment = calloc(1, sizeof *environment);
    struct sigaction action = { 0 };
    if (parameters) misused("parameters are not for this library");
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &environment->before);
    environment->handles_interrupt = 1;
    return environment;
}

void WSStopHandlingSignal(void *environment, int signal_number)
{
    Environment *of = environment;
    if (signal_number != SIGINT || !of->handles_interrupt) return;
    of->handles_interrupt = 0;
    sigaction(SIGINT, &of->before, NULL);
}

void WSDeinitialize(void *environment)
{
    WSStopHandlingSignal(environment, SIGINT);
    free(environment);
}

static const char *value_of(int count, char **words, const char *option)
{
    for (int at = 0; at + 1 < count; at++)
        if (strcmp(words[at], option) == 0) return words[at + 1];
    return NULL;
}

/* Starts the program of a link name: "its path" in quotation marks, and its arguments. */
static int launch(Link *link, const char *name)
{
    char *line = strdup(name), *words[32] = { 0 }, descriptor[32], **environment;
    int pair[2], count = 0, failed;
    size_t size = 0;
    posix_spawn_file_actions_t actions;
    char *at = line;
    while (*at && count < 31) {
        char until = ' ';
        while (*at == ' ') at++;
        if (*at == '"') { until = '"'; at++; }
        if (!*at) break;
        words[count++] = at;
        while (*at && *at != until) at++;
        if (*at) *at++ = 0;
    }
    if (count == 0) { free(line); return BADNAME; }
    while (environ[size]) size++;
    environment = calloc(size + 2, sizeof *environment);
    memcpy(environment, environ, size * sizeof *environment);
    snprintf(descriptor, sizeof descriptor, "FAKE_WSTP_SOCKET=%d", CHILD_SOCKET);
    environment[size] = descriptor;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fcntl(pair[1], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], CHILD_SOCKET);
    failed = posix_spawn(&link->child, words[0], &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    free(environment);
    free(line);
    link->socket = pair[0];
    if (failed) { close(pair[0]); return LAUNCH; }
    return 0;
}

/* A name is PORT@HOST; a link server is asked for by the option of that name. */
static int connect_to(Link *link, const char *name, const char *options)
{
    char port[16] = "", host[256] = "";
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    if (sscanf(name, "%15[0-9]@%255s", port, host) != 2) return BADNAME;
    if (options == NULL || strcmp(options, "MLUseUUIDTCPIPConnection") != 0) return CONNECT;
    if (getaddrinfo(host, port, &hints, &found) != 0) return CONNECT;
    link->socket = socket(found->ai_family, SOCK_STREAM, 0);
    fcntl(link->socket, F_SETFD, FD_CLOEXEC);
    int failed = connect(link->socket, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (failed) { close(link->socket); return CONNECT; }
    return 0;
}

void *WSOpenArgcArgv(void *environment, int argc, char **argv, int *error)
{
    const char *mode = value_of(argc, argv, "-linkmode"), *name = value_of(argc, argv, "-linkname");
    const char *protocol = value_of(argc, argv, "-linkprotocol"), *told = getenv("FAKE_WSTP");
    Link *link = calloc(1, sizeof *link);
    if (environment == NULL || argv[argc] != NULL) misused("the arguments end with no NULL");
    told = told ? told : "";
    link->magic = MAGIC;
    link->slow = strstr(told, "slow") != NULL;
    link->hang = strstr(told, "hang") != NULL;
    if (mode == NULL || name == NULL || strstr(told, "refuse")) *error = BADARGV;
    else if (strcmp(mode, "launch") == 0) *error = launch(link, name);
    else if (strcmp(mode, "connect") == 0 && protocol && strcmp(protocol, "TCPIP") == 0)
        *error = connect_to(link, name, value_of(argc, argv, "-linkoptions"));
    else *error = BADARGV;
    if (*error == 0) return link;
    free(link);
    return NULL;
}

int WSActivate(void *of)
{
    Link *link = of;
    Frame frame;
    enter(link);
    while (link->hang) pause_ms(1000);
    if (!next_frame(link, &frame)) return leave(link, 0);
    if (frame.kind != 'A') return leave(link, fail(link, DEAD));
    drop(link, &frame);
    return leave(link, 1);
}

void WSClose(void *of)
{
    Link *link = of;
    enter(link);
    if (link->texts) broken("a text is not released before the link is closed");
    if (link->child && !link->terminated) broken("a kernel that was launched is not told to end");
    shutdown(link->socket, SHUT_RDWR);
    close(link->socket);
    for (int at = 0; link->child && waitpid(link->child, NULL, WNOHANG) == 0; at++) {
        if (at == 100) kill(link->child, SIGKILL);
        pause_ms(20);
    }
    free(link->in.bytes);
    free(link->out.bytes);
    link->magic = 0; /* It is not freed, so that a use of it is noticed. */
}

/* Errors. */

static const char *words_for(long error)
{
    switch (error) {
    case 0: return "everything is okay so far";
    case DEAD: return "the link is dead";
    case GSEQ: return "a function was called out of sequence";
    case OVERFLOW: return "a number does not fit";
    case CONNECT: return "no other side can be reached";
    case CLOSED: return "the other side has closed the link";
    case NEXTPACKET: return "a packet was not read to its end";
    case UNKNOWNPACKET: return "a packet of an unknown kind came";
    case GETENDPACKET: return "the packet has no more parts";
    case BADARGV: return "the arguments say no link";
    case LAUNCH: return "the program could not be started";
    case BADNAME: return "the name of the link says nothing";
    default: return "an error that has no text";
    }
}

int WSError(void *of)
{
    Link *link = of;
    enter(link);
    return leave(link, link->error);
}

const char *WSErrorMessage(void *of)
{
    Link *link = of;
    enter(link);
    const char *message = strdup(words_for(link->error));
    link->texts++;
    leave(link, 0);
    return message;
}

void WSReleaseErrorMessage(void *of, const char *message)
{
    Link *link = of;
    enter(link);
    free((void *)message);
    link->texts--;
    leave(link, 0);
}

const char *WSErrorString(void *environment, long error)
{
    (void)environment;
    return words_for(error);
}

/* It says of every error that it is cleared: that the other side is gone, too, which comes again. */
int WSClearError(void *of)
{
    Link *link = of;
    enter(link);
    link->error = 0;
    return leave(link, 1);
}

/* Sending. */

static int put(Link *link, int kind, const void *first, size_t first_length, const void *rest, size_t length)
{
    enter(link);
    if (link->error) return leave(link, 0);
    link->flushed = 0;
    put_frame(&link->out, kind, first, first_length, rest, length);
    return leave(link, 1);
}

int WSPutFunction(void *of, const char *name, int count)
{
    unsigned char counted[4] = { (unsigned)count >> 24, count >> 16, count >> 8, count };
    return put(of, 'F', counted, 4, name, strlen(name));
}

/* A surrogate alone is no UTF-8. */
int WSPutUTF8String(void *of, const unsigned char *bytes, int length)
{
    for (int at = 0; at + 1 < length; at++)
        if (bytes[at] == 0xED && bytes[at + 1] >= 0xA0) return fail(of, PUTSTRING);
    return put(of, 'S', NULL, 0, bytes, length);
}

int WSPutSymbol(void *of, const char *name) { return put(of, 'Y', NULL, 0, name, strlen(name)); }

int WSEndPacket(void *of) { return put(of, 'E', NULL, 0, NULL, 0); }

int WSFlush(void *of)
{
    Link *link = of;
    enter(link);
    link->flushed = 1;
    return leave(link, link->error == 0 && send_out(link, &link->out));
}

int WSPutMessage(void *of, int code)
{
    Link *link = of;
    unsigned char byte = code;
    Buffer message = { 0 };
    enter(link);
    if (code == TERMINATE_MESSAGE) link->terminated = 1;
    put_frame(&message, 'M', NULL, 0, &byte, 1);
    int sent = send_out(link, &message);
    free(message.bytes);
    return leave(link, sent);
}

/* Receiving. */

/* There is something to read: the beginning of a packet is enough, and so is the end of the stream. */
int WSReady(void *of)
{
    Link *link = of;
    Frame frame;
    enter(link);
    if (!link->flushed) broken("WSReady is called without a WSFlush before it");
    return leave(link, link->error == 0 && (whole_frame(link, &frame) || !take_in(link, 0) || whole_frame(link, &frame)));
}

int WSNextPacket(void *of)
{
    static const struct { const char *name; int number; } packets[] = {
        { "InputPacket", 1 }, { "TextPacket", 2 }, { "ReturnPacket", 3 }, { "ReturnTextPacket", 4 },
        { "MessagePacket", 5 }, { "MenuPacket", 6 }, { "CallPacket", 7 }, { "InputNamePacket", 8 },
        { "OutputNamePacket", 9 }, { "SyntaxPacket", 10 }, { "DisplayPacket", 11 }, { "DisplayEndPacket", 12 },
        { "EvaluatePacket", 13 }, { "EnterTextPacket", 14 }, { "EnterExpressionPacket", 15 },
        { "ReturnExpressionPacket", 16 }, { "SuspendPacket", 17 }, { "ResumePacket", 18 },
        { "BeginDialogPacket", 19 }, { "EndDialogPacket", 20 }, { "InputStringPacket", 21 },
    };
    Link *link = of;
    Frame frame;
    enter(link);
    if (!next_frame(link, &frame)) return leave(link, 0);
    if (link->in_packet && frame.kind == 'E') {
        drop(link, &frame);
        link->in_packet = 0;
        if (!next_frame(link, &frame)) return leave(link, 0);
    }
    if (link->in_packet) return leave(link, fail(link, NEXTPACKET));
    if (frame.kind != 'F') return leave(link, fail(link, GSEQ));
    link->in_packet = 1;
    for (size_t at = 0; at < sizeof packets / sizeof *packets; at++)
        if (strlen(packets[at].name) + 4 == frame.length
            && memcmp(packets[at].name, frame.bytes + 4, frame.length - 4) == 0) {
            drop(link, &frame);
            return leave(link, packets[at].number);
        }
    return leave(link, fail(link, UNKNOWNPACKET));
}

int WSNewPacket(void *of)
{
    Link *link = of;
    Frame frame;
    enter(link);
    while (link->in_packet) {
        if (!next_frame(link, &frame)) return leave(link, 0);
        if (frame.kind == 'E') link->in_packet = 0;
        drop(link, &frame);
    }
    return leave(link, link->error == 0);
}

int WSGetNext(void *of)
{
    Link *link = of;
    Frame frame;
    enter(link);
    if (!next_frame(link, &frame)) return leave(link, 0);
    switch (frame.kind) {
    case 'S': return leave(link, '"');
    case 'Y': return leave(link, '#');
    case 'I': return leave(link, '+');
    case 'R': return leave(link, '*');
    case 'F': return leave(link, 'F');
    default: return leave(link, fail(link, GETENDPACKET));
    }
}

static int get_text(Link *link, int kind, const unsigned char **text, int *bytes, int *characters)
{
    Frame frame;
    enter(link);
    if (!next_frame(link, &frame)) return leave(link, 0);
    if (frame.kind != kind) return leave(link, fail(link, GSEQ));
    /* The length lies before the text, so that a release with another one is noticed. */
    size_t *whole = malloc(sizeof *whole + frame.length + 1);
    *whole = frame.length;
    link->texts++;
    *text = memcpy(whole + 1, frame.bytes, frame.length);
    *bytes = (int)frame.length;
    *characters = 0;
    for (size_t at = 0; at < frame.length; at++)
        if ((frame.bytes[at] & 0xC0) != 0x80) ++*characters;
    drop(link, &frame);
    return leave(link, 1);
}

static void release(Link *link, const unsigned char *text, int bytes)
{
    size_t *whole = (size_t *)text - 1;
    enter(link);
    if (*whole != (size_t)bytes) broken("a text is released with another length than it has");
    free(whole);
    link->texts--;
    leave(link, 0);
}

int WSGetUTF8String(void *of, const unsigned char **text, int *bytes, int *characters)
{
    return get_text(of, 'S', text, bytes, characters);
}

void WSReleaseUTF8String(void *of, const unsigned char *text, int bytes) { release(of, text, bytes); }

int WSGetUTF8Symbol(void *of, const unsigned char **text, int *bytes, int *characters)
{
    return get_text(of, 'Y', text, bytes, characters);
}

void WSReleaseUTF8Symbol(void *of, const unsigned char *text, int bytes) { release(of, text, bytes); }

int WSGetInteger64(void *of, int64_t *value)
{
    Link *link = of;
    Frame frame;
    char digits[32] = { 0 };
    enter(link);
    if (!next_frame(link, &frame)) return leave(link, 0);
    if (frame.kind != 'I') return leave(link, fail(link, GSEQ));
    errno = 0;
    if (frame.length < sizeof digits) memcpy(digits, frame.bytes, frame.length);
    *value = strtoll(digits, NULL, 10);
    if (errno || frame.length >= sizeof digits) return leave(link, fail(link, OVERFLOW));
    drop(link, &frame);
    return leave(link, 1);
}
