/* Names of MPI_Publish_name between jobs (SPEC-dynamic-processes DN1): serve NAME | call NAME
 * NUMBER | hold NAME FILE, which also tries what it must not do | clash NAME, of a server |
 * withdraw NAME FILE, of a server. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int class_of(int error)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(error, &class);
    return class;
}

static void must(int is_right, const char *what)
{
    if (is_right)
        return;
    printf("wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void publish(const char *name, char port[MPI_MAX_PORT_NAME])
{
    MPI_Open_port(MPI_INFO_NULL, port);
    must(MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, "it cannot be registered");
}

static void serve(const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm client;
    int number;

    publish(name, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client);
    MPI_Recv(&number, 1, MPI_INT, 0, 0, client, MPI_STATUS_IGNORE);
    printf("a client sent %d\n", number);
    MPI_Comm_disconnect(&client);
    must(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, "it cannot be unpublished");
    must(class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, port)) == MPI_ERR_SERVICE,
         "it is still there");
    MPI_Close_port(port);
}

static void call(const char *name, int number)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm server;
    int error;

    while ((error = MPI_Lookup_name(name, MPI_INFO_NULL, port)) != MPI_SUCCESS) {
        must(class_of(error) == MPI_ERR_NAME, "the class of a name that is not there");
        usleep(20000);
    }
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &server);
    MPI_Send(&number, 1, MPI_INT, 0, 0, server);
    MPI_Comm_disconnect(&server);
}

static void hold(const char *name, const char *file)
{
    char port[MPI_MAX_PORT_NAME], known[MPI_MAX_PORT_NAME];

    publish(name, port);
    must(MPI_Publish_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS, "it is registered twice");
    must(MPI_Lookup_name(name, MPI_INFO_NULL, known) == MPI_SUCCESS &&
         !strcmp(known, port), "it leads elsewhere");
    must(MPI_Publish_name("taken", MPI_INFO_NULL, port) != MPI_SUCCESS,
         "another job's name is taken");
    must(class_of(MPI_Unpublish_name("taken", MPI_INFO_NULL, port)) == MPI_ERR_SERVICE,
         "and is withdrawn");
    printf("held\n");
    fflush(stdout);
    while (access(file, F_OK) != 0)
        usleep(20000);
}

/* Another job has a server of this name. */
static void clash(const char *name)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm client;
    int length, error = MPIX_Server_connect(MPI_COMM_SELF, name, &client);

    must(class_of(error) == MPI_ERR_SERVICE, "the class of a name that another server uses");
    MPI_Error_string(error, text, &length);
    must(strstr(text, "another server uses it") && !strstr(text, "resource manager"), text);
    printf("refused\n");
}

static void await_file(const char *file, const char *suffix)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s%s", file, suffix);
    while (access(path, F_OK) != 0)
        usleep(20000);
}

static void print(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

/* A name that is reserved, and then twice a server's; elasticd may be down from the first file to
 * the second. */
static void withdraw(const char *name, const char *file)
{
    char given[MPI_MAX_PORT_NAME];
    MPI_Request port;

    must(MPIX_Get_server_name(name, given) == MPI_SUCCESS &&
         !strcmp(given, name), "another name is reserved");
    must(MPIX_Iaccept(MPI_COMM_SELF, name, 1, &port) == MPI_SUCCESS, "it is not registered");
    print("registered");
    await_file(file, "");
    must(MPI_Cancel(&port) == MPI_SUCCESS &&
         MPI_Wait(&port, MPI_STATUS_IGNORE) == MPI_SUCCESS, "it is not cancelled");
    MPI_Request_free(&port);
    print("withdrawn");
    must(MPIX_Iaccept(MPI_COMM_SELF, name, 1, &port) == MPI_SUCCESS, "it is not registered again");
    print("again");
    await_file(file, ".end");
    MPI_Cancel(&port);
    MPI_Wait(&port, MPI_STATUS_IGNORE);
    MPI_Request_free(&port);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc == 3 && !strcmp(argv[1], "serve"))
        serve(argv[2]);
    else if (argc == 4 && !strcmp(argv[1], "call"))
        call(argv[2], atoi(argv[3]));
    else if (argc == 4 && !strcmp(argv[1], "hold"))
        hold(argv[2], argv[3]);
    else if (argc == 3 && !strcmp(argv[1], "clash"))
        clash(argv[2]);
    else if (argc == 4 && !strcmp(argv[1], "withdraw"))
        withdraw(argv[2], argv[3]);
    MPI_Finalize();
    return 0;
}
