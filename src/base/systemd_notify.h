/* Notifies systemd of the state of the calling service, if systemd has started it: the lines of
 * sd_notify(3), such as "READY=1".  Does nothing elsewhere. */

#ifndef ELASTIC_RM_SYSTEMD_NOTIFY_H_INCLUDED
#define ELASTIC_RM_SYSTEMD_NOTIFY_H_INCLUDED

#include <string>

namespace elastic::rm {

void notify_systemd(const std::string &lines);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SYSTEMD_NOTIFY_H_INCLUDED */
