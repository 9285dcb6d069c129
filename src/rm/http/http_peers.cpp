/* See http_server.h: the counts of a user, or of a class of addresses. */

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstring>

#include "base/log.h"
#include "http/http_server.h"

namespace elastic::rm {

std::optional<ucred> credentials_of(int socket)
{
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return std::nullopt;
    return peer;
}

std::optional<uint32_t> uid_of(int socket)
{
    auto peer = credentials_of(socket);
    return peer ? std::optional<uint32_t>(peer->uid) : std::nullopt;
}

std::string user_peer(uint32_t uid)
{
    return "uid " + std::to_string(uid);
}

std::string peer_of(int socket, const sockaddr_storage &address)
{
    if (address.ss_family == AF_INET || address.ss_family == AF_INET6)
        return address_class(reinterpret_cast<const sockaddr *>(&address));
    auto uid = uid_of(socket);
    return user_peer(uid ? *uid : UINT32_MAX);
}

HttpConnection *connection_of(MHD_Connection *connection)
{
    const MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? static_cast<HttpConnection *>(info->socket_context) : nullptr;
}

HttpConnection *exchange_connection(const HttpServer::Impl::Exchange &exchange)
{
    return exchange.connection ? connection_of(exchange.connection) : nullptr;
}

std::shared_ptr<HttpPeers> make_http_peers()
{
    return std::make_shared<HttpPeers>();
}

std::string address_class(const sockaddr *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    in_addr v4 = {};
    if (address->sa_family == AF_INET6) {
        const in6_addr &v6 = reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr;
        if (IN6_IS_ADDR_LOOPBACK(&v6))
            return "this machine";
        if (!IN6_IS_ADDR_V4MAPPED(&v6)) {
            in6_addr network = v6;
            memset(&network.s6_addr[8], 0, 8);
            inet_ntop(AF_INET6, &network, text, sizeof text);
            return std::string(text) + "/64";
        }
        memcpy(&v4, &v6.s6_addr[12], sizeof v4);
    } else {
        v4 = reinterpret_cast<const sockaddr_in *>(address)->sin_addr;
    }
    if (ntohl(v4.s_addr) >> 24 == 127)
        return "this machine";
    return inet_ntop(AF_INET, &v4, text, sizeof text);
}

void HttpPeers::join(HttpConnection &connection)
{
    peers[connection.peer].connections++;
    if (connection.is_unauthenticated)
        unauthenticated.push_back(&connection);
    else
        users++;
}

void HttpPeers::leave(HttpConnection &connection)
{
    if (connection.is_ended)
        return;
    auto peer = peers.find(connection.peer);
    peer->second.connections--;
    close_idle(connection.peer);
    if (connection.is_unauthenticated)
        unauthenticated.remove(&connection);
    else
        users--;
}

/* It no longer counts; libmicrohttpd detects the end and closes it. */
void HttpPeers::end(HttpConnection &connection)
{
    leave(connection);
    connection.is_ended = true;
    shutdown(connection.fd, SHUT_RDWR);
}

/* Ends the oldest one of this class of addresses; of any class if it is empty. */
bool HttpPeers::end_unauthenticated(const std::string &peer)
{
    for (HttpConnection *each : unauthenticated)
        if (peer.empty() || each->peer == peer) {
            end(*each);
            return true;
        }
    return false;
}

/* False: there is no capacity for it. */
bool HttpPeers::hold_answer(Exchange &exchange, size_t bytes)
{
    const HttpConnection *connection = exchange_connection(exchange);
    if (bytes > HTTP_ANSWER_MAX || !connection)
        return false;
    while (peers[connection->peer].answer_bytes + bytes > HTTP_PEER_ANSWERS_MAX)
        if (!end_answer_of(connection->peer))
            return false;
    while (answer_bytes + bytes > HTTP_ANSWERS_MAX)
        if (!end_answer_of(largest_reader()))
            return false;
    exchange.answer_bytes = bytes;
    peers[connection->peer].answer_bytes += bytes;
    answer_bytes += bytes;
    answers.push_back(&exchange);
    return true;
}

void HttpPeers::drop_answer(Exchange &exchange)
{
    size_t bytes = std::exchange(exchange.answer_bytes, 0);
    const HttpConnection *connection = exchange_connection(exchange);
    if (bytes == 0 || !connection)
        return;
    answers.remove(&exchange);
    answer_bytes -= bytes;
    auto peer = peers.find(connection->peer);
    peer->second.answer_bytes -= bytes;
    close_idle(connection->peer);
}

bool HttpPeers::end_answer_of(const std::string &peer)
{
    for (Exchange *each : answers) {
        HttpConnection *connection = exchange_connection(*each);
        if (!connection || connection->peer != peer)
            continue;
        log_line(LogLevel::WARNING, "a client does not read its answers and is disconnected",
                 {{"client", peer}, {"bytes", each->answer_bytes}});
        drop_answer(*each);
        if (!connection->is_ended)
            end(*connection);
        return true;
    }
    return false;
}

void HttpPeers::close_idle(std::string name)
{
    auto peer = peers.find(name);
    if (peer != peers.end() && peer->second.connections + peer->second.body_bytes +
                peer->second.answer_bytes == 0)
        peers.erase(peer);
}

std::string HttpPeers::largest_reader() const
{
    auto largest = std::ranges::max_element(
        peers, {}, [](const auto &entry) { return entry.second.answer_bytes; });
    return largest == peers.end() ? "" : largest->first;
}

}  // namespace elastic::rm
