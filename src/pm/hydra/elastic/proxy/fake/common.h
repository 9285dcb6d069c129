/* pmip_adapt.h names these, and the fuzzed code does not use them; COMMON_H_INCLUDED stands for
 * more of Hydra. */

struct HYD_env;
struct HYD_pmcd_hdr;
