/*
 * Rows of ch4_unresolved.h (ch4_adapt_api.txt) for libfabric: messages from any source, for which
 * some receives are always posted.  MPICH's messages and receives never have their match bits.
 */

#include "mpidimpl.h"
#include "ofi_impl.h"
#include "ofi_noinline.h"
#include "../../src/ch4_unresolved.h"

#define EARS 8                  /* receives; further messages wait in the network */
#define MATCH_BITS (MPIDI_OFI_DYNPROC_SEND | MPIDI_OFI_SYNC_SEND_ACK)

static struct ear {
    MPIDI_OFI_dynamic_process_request_t request;
    struct MPIDI_Unresolved_msg word;
    bool is_open;
} ears[EARS];

static struct MPIDI_Unresolved_msg own;
static size_t name_bytes, word_bytes;

static void open_ear(struct ear *ear)
{
    memset(ear, 0, sizeof(*ear));
    ear->request.event_id = MPIDI_OFI_EVENT_DYNPROC_DONE;
    ear->is_open =
        fi_trecv(MPIDI_OFI_global.ctx[0].rx, &ear->word, sizeof(ear->word), NULL, FI_ADDR_UNSPEC,
                 MATCH_BITS, 0, &ear->request.context) == 0;
}

bool MPIDI_OFI_unresolved_listen(void)
{
    name_bytes = sizeof(own.name);
    if (!MPIDI_OFI_ENABLE_TAGGED ||
        fi_getname((fid_t) MPIDI_OFI_global.ctx[0].ep, own.name, &name_bytes) != 0)
        return false;
    word_bytes = offsetof(struct MPIDI_Unresolved_msg, name) + name_bytes;
    if (word_bytes > MPIDI_OFI_global.max_buffered_send)
        return false;
    for (int i = 0; i < EARS; i++)
        open_ear(&ears[i]);
    return true;
}

bool MPIDI_OFI_unresolved_recv(struct MPIDI_Unresolved_msg *word)
{
    for (int i = 0; i < EARS; i++) {
        if (ears[i].is_open && !ears[i].request.done)
            continue;
        bool has_received = ears[i].is_open;
        *word = ears[i].word;
        open_ear(&ears[i]);
        if (has_received)
            return true;
    }
    return false;
}

bool MPIDI_OFI_unresolved_send(MPIDI_av_entry_t * to, bool is_answer)
{
    own.is_answer = is_answer;
    return fi_tinjectdata(MPIDI_OFI_global.ctx[0].tx, &own, word_bytes, 0,
                          MPIDI_OFI_av_to_phys(to, 0, 0, 0), MATCH_BITS) == 0;
}

bool MPIDI_OFI_unresolved_find(const char *name, int *avtid, int *lpid)
{
    char other[MPIDI_UNRESOLVED_NAME];

    for (*avtid = 0; *avtid < MPIDIU_get_n_avts(); ++*avtid) {
        for (*lpid = 0; MPIDIU_get_av_table(*avtid) && *lpid < MPIDIU_get_av_table(*avtid)->size;
             ++*lpid) {
            size_t bytes = sizeof(other);
            if (fi_av_lookup(MPIDI_OFI_global.ctx[0].av, MPIDI_OFI_TO_PHYS(*avtid, *lpid, 0), other,
                             &bytes) == 0 &&
                bytes == name_bytes && !memcmp(other, name, bytes))
                return true;
        }
    }
    return false;
}
