# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Shared by every Kbuild of the tree; $(rds-top) is the repository root.

# The shadow headers come first and pass on to the kernel's; -I in ccflags-y would come too late.
# A sub-folder inherits the list, where each must be once: #include_next goes by position.
rds-include := $(addprefix -I$(abspath $(rds-top))/include,/compat /uapi /)
LINUXINCLUDE := $(rds-include) $(filter-out $(rds-include),$(LINUXINCLUDE))

# What cannot be asked with #ifdef is looked up in the kernel's headers, never guessed from a
# version: distributions carry patches back.  $(call rds-probe,header,regular expression,macro)
rds-probe = $(if $(shell grep -lE '$(2)' $(srctree)/include/$(1) 2>/dev/null),-D$(3))

rds-probes := $(call rds-probe,linux/skbuff.h,\<skb_splice_from_iter\>,RDS_HAVE_SKB_SPLICE)
rds-probes += $(call rds-probe,linux/socket.h,struct sockaddr_unsized,RDS_HAVE_SOCKADDR_UNSIZED)
rds-probes += $(call rds-probe,linux/uio.h,\<iov_iter_extract_pages\>,RDS_HAVE_EXTRACT_PAGES)
rds-probes += $(call rds-probe,linux/sysctl.h,int proc_handler.const struct,RDS_HAVE_CONST_CTL_TABLE)
rds-probes += $(call rds-probe,net/sock.h,\<sk_net_refcnt_upgrade\>,RDS_HAVE_NET_REFCNT_UPGRADE)
rds-probes += $(call rds-probe,net/net_namespace.h,\<register_net_sysctl_sz\>,RDS_HAVE_NET_SYSCTL_SZ)

ccflags-y += $(rds-probes)
