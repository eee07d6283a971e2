// One scenario of MySQL calls by name, and on standard output what the client knows of each: a line of
// operation, rows, affected rows, error number, the client's own nanoseconds around the call, and the
// statement. Unknown is empty. Run by `record`.
//
//   client SCENARIO HOST PORT
#include <mysql.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *host;
static unsigned port;
static int64_t began;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void begin(void) { began = now(); }

// -1: the call has none.
static void tell(const char *op, long rows, long affected, unsigned error, const char *statement) {
    int64_t took = now() - began;
    printf("%s\t", op);
    if (rows >= 0) printf("%ld", rows);
    printf("\t");
    if (affected >= 0) printf("%ld", affected);
    printf("\t");
    if (error) printf("%u", error);
    printf("\t%lld\t%.60s\n", (long long)took, statement);
}

static MYSQL *prepare_to_connect(void) {
    MYSQL *m = mysql_init(NULL);
    my_bool off = 0, on = 1;
    unsigned local = 1;
    mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
    mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &local);
    mysql_options(m, MYSQL_ENABLE_CLEARTEXT_PLUGIN, &on);
    mysql_options4(m, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "slowside-client");
    return m;
}

static void log_on(MYSQL *m, const char *user, const char *password, const char *db, unsigned long flags) {
    begin();
    MYSQL *ok = mysql_real_connect(m, host, user, password, db, port, NULL, flags);
    tell("LOGON", -1, -1, ok ? 0 : mysql_errno(m), user);
}

static MYSQL *connected(const char *db, unsigned long flags) {
    MYSQL *m = prepare_to_connect();
    log_on(m, "app", "secret", db, flags);
    return m;
}

// A statement and all of its results.
static void query_as(MYSQL *m, const char *op, const char *text, unsigned long length) {
    long rows = -1, affected = -1;
    begin();
    int failed = mysql_real_query(m, text, length);
    while (!failed) {
        MYSQL_RES *result = mysql_store_result(m);
        if (result) {
            rows = (rows < 0 ? 0 : rows) + (long)mysql_num_rows(result);
            mysql_free_result(result);
        } else if (mysql_errno(m) == 0) {
            affected = (affected < 0 ? 0 : affected) + (long)mysql_affected_rows(m);
        }
        int next = mysql_next_result(m);
        if (next < 0) break;
        failed = next > 0;
    }
    tell(op, rows, affected, mysql_errno(m), text);
}

static void query(MYSQL *m, const char *text) { query_as(m, "EXECUTE", text, strlen(text)); }
static void transaction(MYSQL *m, const char *op, const char *text) { query_as(m, op, text, strlen(text)); }

static MYSQL_STMT *prepare(MYSQL *m, const char *text) {
    MYSQL_STMT *s = mysql_stmt_init(m);
    begin();
    mysql_stmt_prepare(s, text, strlen(text));
    tell("PREPARE", -1, -1, mysql_stmt_errno(s), text);
    return s;
}

static void bind_long(MYSQL_STMT *s, int *value) {
    MYSQL_BIND bind;
    memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_LONG;
    bind.buffer = value;
    mysql_stmt_bind_param(s, &bind);
}

static void execute_begun(MYSQL_STMT *s, const char *op, const char *text) {
    int failed = mysql_stmt_execute(s);
    long rows = -1, affected = -1;
    if (!failed && mysql_stmt_field_count(s) > 0) {
        mysql_stmt_store_result(s);
        rows = (long)mysql_stmt_num_rows(s);
    } else if (!failed) {
        affected = (long)mysql_stmt_affected_rows(s);
    }
    tell(op, rows, affected, mysql_stmt_errno(s), text);
    mysql_stmt_free_result(s);
}

static void execute(MYSQL_STMT *s, const char *op, const char *text) {
    begin();
    execute_begun(s, op, text);
}

static void queries(void) {
    MYSQL *m = connected("test", 0);
    query(m, "create table t (id int primary key, v varchar(100))");
    query(m, "insert into t values (1,'one'),(2,'two'),(3,null)");
    query(m, "insert into t select seq, concat('v', seq) from seq_4_to_250");
    query(m, "select * from t");
    query(m, "select * from t where id < 0");
    query(m, "update t set v = 'x' where id <= 10");
    transaction(m, "BEGIN", "begin");
    query(m, "delete from t where id > 240");
    transaction(m, "ROLLBACK", "rollback");
    transaction(m, "BEGIN", "START TRANSACTION");
    query(m, "delete from t where id > 245");
    transaction(m, "COMMIT", "commit");
    query(m, "select nothing from nowhere");
    query(m, "selec 1");
    query(m, "insert into t values (1, 'again')");
    query(m, "/* who */ select sleep(0.05) -- why");
    begin();
    mysql_select_db(m, "mysql");
    tell("INIT_DB", -1, -1, mysql_errno(m), "");
    begin();
    mysql_select_db(m, "nowhere");
    tell("INIT_DB", -1, -1, mysql_errno(m), "");
    mysql_select_db(m, "test");
    tell("INIT_DB", -1, -1, mysql_errno(m), "");
    begin();
    mysql_ping(m);
    tell("PING", -1, -1, mysql_errno(m), "");
    begin();
    mysql_stat(m);
    tell("STATISTICS", -1, -1, mysql_errno(m), "");
    begin();
    mysql_free_result(mysql_list_fields(m, "t", NULL));
    tell("FIELD_LIST", -1, -1, mysql_errno(m), "");
    begin();
    mysql_set_server_option(m, MYSQL_OPTION_MULTI_STATEMENTS_ON);
    tell("SET_OPTION", -1, -1, mysql_errno(m), "");
    query(m, "select 1; select id from t limit 5; update t set v = 'y' where id < 4; select 2");
    query(m, "select 1; select * from nowhere; select 3");
    query(m, "create procedure p() begin select 1; select id from t limit 7; end");
    query(m, "call p()");
    query(m, "drop procedure p");
    mysql_close(m);
}

static void prepared(void) {
    MYSQL *m = connected("test", 0);
    query(m, "create or replace table b (id int, data longblob)");
    int id = 7;
    const char *select = "select id, v from t where id > ?";
    MYSQL_STMT *s = prepare(m, select);
    bind_long(s, &id);
    execute(s, "EXECUTE", select);
    id = 200;
    execute(s, "EXECUTE", select);
    begin();
    mysql_stmt_reset(s);
    tell("CLOSE", -1, -1, mysql_stmt_errno(s), select);
    mysql_stmt_close(s);

    const char *nothing = "select * from nowhere where id = ?";
    mysql_stmt_close(prepare(m, nothing));
    const char *plain = "select 'no parameters', 2";
    s = prepare(m, plain);
    execute(s, "EXECUTE", plain);
    mysql_stmt_close(s);
    const char *commit = "commit";
    s = prepare(m, commit);
    execute(s, "COMMIT", commit);
    mysql_stmt_close(s);

    const char *insert = "insert into b values (?, ?)";
    s = prepare(m, insert);
    MYSQL_BIND binds[2];
    memset(binds, 0, sizeof binds);
    binds[0].buffer_type = MYSQL_TYPE_LONG;
    binds[0].buffer = &id;
    binds[1].buffer_type = MYSQL_TYPE_LONG_BLOB;
    mysql_stmt_bind_param(s, binds);
    char piece[3000];
    memset(piece, 'p', sizeof piece);
    begin();
    for (int i = 0; i < 4; i++) mysql_stmt_send_long_data(s, 1, piece, sizeof piece);
    execute_begun(s, "EXECUTE", insert);
    mysql_stmt_close(s);

    // MariaDB: both in one go, the number of the statement not known yet.
    const char *direct = "insert into b (id) values (1)";
    s = mysql_stmt_init(m);
    begin();
    mariadb_stmt_execute_direct(s, direct, strlen(direct));
    tell("PREPARE", -1, -1, mysql_stmt_errno(s), direct);
    tell("EXECUTE", -1, (long)mysql_stmt_affected_rows(s), mysql_stmt_errno(s), direct);
    mysql_stmt_close(s);

    // MariaDB: many rows in one execution.
    const char *many = "insert into b (id) values (?)";
    s = prepare(m, many);
    int ids[50];
    for (int i = 0; i < 50; i++) ids[i] = i;
    unsigned size = 50;
    mysql_stmt_attr_set(s, STMT_ATTR_ARRAY_SIZE, &size);
    bind_long(s, ids);
    execute(s, "EXECUTE", many);
    mysql_stmt_close(s);
    mysql_close(m);
}

static void cursors(void) {
    MYSQL *m = connected("test", 0);
    const char *text = "select id, v from t where id <= ?";
    int id = 95, value;
    MYSQL_STMT *s = mysql_stmt_init(m);
    unsigned long type = CURSOR_TYPE_READ_ONLY, ahead = 10;
    mysql_stmt_attr_set(s, STMT_ATTR_CURSOR_TYPE, &type);
    mysql_stmt_attr_set(s, STMT_ATTR_PREFETCH_ROWS, &ahead);
    begin();
    mysql_stmt_prepare(s, text, strlen(text));
    tell("PREPARE", -1, -1, mysql_stmt_errno(s), text);
    bind_long(s, &id);
    begin();
    mysql_stmt_execute(s);
    tell("EXECUTE", 0, -1, mysql_stmt_errno(s), text);
    MYSQL_BIND result[2];
    char v[100];
    memset(result, 0, sizeof result);
    result[0].buffer_type = MYSQL_TYPE_LONG;
    result[0].buffer = &value;
    result[1].buffer_type = MYSQL_TYPE_STRING;
    result[1].buffer = v;
    result[1].buffer_length = sizeof v;
    mysql_stmt_bind_result(s, result);
    for (;;) {
        // The first row of a batch asks for it.
        begin();
        if (mysql_stmt_fetch(s)) break;
        int64_t first = began;
        long rows = 1;
        while (rows < (long)ahead && mysql_stmt_fetch(s) == 0) rows++;
        began = first;
        tell("FETCH", rows, -1, mysql_stmt_errno(s), text);
        if (rows < (long)ahead) break;
    }
    mysql_stmt_close(s);
    mysql_close(m);
}

static void infile(const char *path) {
    MYSQL *m = connected("test", 0);
    char text[500];
    query(m, "create or replace table l (id int, v varchar(100))");
    snprintf(text, sizeof text, "load data local infile '%s' into table l", path);
    query_as(m, "COPY", text, strlen(text));
    // The client cannot read it, and sends an empty one.
    const char *missing = "load data local infile '/nonexistent' into table l";
    begin();
    mysql_query(m, missing);
    tell("COPY", -1, 0, 0, missing);
    query(m, "select count(*) from l");
    mysql_close(m);
}

static void logons(void) {
    MYSQL *m = prepare_to_connect();
    log_on(m, "app", "wrong", "test", 0);
    mysql_close(m);
    m = prepare_to_connect();
    log_on(m, "app", "secret", "nowhere", 0);
    mysql_close(m);
    m = prepare_to_connect();
    log_on(m, "ed", "secret", "test", 0);
    begin();
    mysql_change_user(m, "app", "secret", "mysql");
    tell("LOGON", -1, -1, mysql_errno(m), "app");
    query(m, "select user()");
    begin();
    mysql_reset_connection(m);
    tell("RESET_CONNECTION", -1, -1, mysql_errno(m), "");
    query(m, "select database()");
    mysql_close(m);
    m = prepare_to_connect();
    log_on(m, "plain", "readable", "test", 0);
    mysql_close(m);
}

static void hidden(my_bool tls, unsigned long flags) {
    MYSQL *m = prepare_to_connect();
    if (tls) mysql_options(m, MYSQL_OPT_SSL_ENFORCE, &tls);
    log_on(m, "app", "secret", "test", flags);
    query(m, "select seq, repeat('x', 100) from seq_1_to_100");
    query(m, "select 1");
    mysql_close(m);
}

static void progress(const MYSQL *m, unsigned stage, unsigned stages, double done, const char *what, unsigned length) {
    (void)m, (void)what, (void)length;
    fprintf(stderr, "progress %u/%u %.1f %%\n", stage, stages, done);
}

static void reports(void) {
    MYSQL *m = prepare_to_connect();
    mysql_options(m, MYSQL_PROGRESS_CALLBACK, (const void *)progress);
    log_on(m, "app", "secret", "test", CLIENT_PROGRESS);
    query(m, "set progress_report_time = 1");
    query(m, "create or replace table big engine=aria select seq, md5(seq) as a, md5(seq+1) as b from seq_1_to_1000000");
    query(m, "alter table big add index (a), add index (b), algorithm=copy");
    query(m, "drop table big");
    mysql_close(m);
}

static void large(void) {
    MYSQL *m = connected("test", 0);
    // A command, and then a row, that go on in a second packet.
    size_t size = 17000000;
    char *text = malloc(size + 100);
    strcpy(text, "select length('");
    size_t at = strlen(text);
    memset(text + at, 'x', size);
    strcpy(text + at + size, "')");
    query_as(m, "EXECUTE", text, strlen(text));
    query(m, "select repeat('y', 17000000), 1");
    query(m, "select 1");
    free(text);
    mysql_close(m);
}

int main(int count, char **words) {
    if (count < 4) return 2;
    const char *name = words[1];
    host = words[2];
    port = (unsigned)atoi(words[3]);
    if (!strcmp(name, "queries")) queries();
    else if (!strcmp(name, "prepared")) prepared();
    else if (!strcmp(name, "cursors")) cursors();
    else if (!strcmp(name, "infile") && count > 4) infile(words[4]);
    else if (!strcmp(name, "logons")) logons();
    else if (!strcmp(name, "compression")) hidden(0, CLIENT_COMPRESS);
    else if (!strcmp(name, "tls")) hidden(1, 0);
    else if (!strcmp(name, "progress")) reports();
    else if (!strcmp(name, "large")) large();
    else return 2;
    return 0;
}
