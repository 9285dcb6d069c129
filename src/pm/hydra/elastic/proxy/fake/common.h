/* Types that pmip_adapt.h names but the fuzzed code does not use.  COMMON_H_INCLUDED stands for
 * more of Hydra. */

struct HYD_env;
struct HYD_pmcd_hdr;
