# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compiler flags for all Kbuild files of the tree. $(rds-top) is the root of the repository.

# The shadow headers in compat/ come first and include the kernel's headers of the same names; a -I
# in ccflags-y would come too late. Sub-folders inherit LINUXINCLUDE, and each path must be in it
# once, because #include_next continues after the position of the current path.
rds-include := $(addprefix -I$(abspath $(rds-top))/include,/compat /uapi /)
LINUXINCLUDE := $(rds-include) $(filter-out $(rds-include),$(LINUXINCLUDE))

# Properties of the kernel that #ifdef cannot test are searched in its headers, not derived from its
# version, because distributions backport patches.
# $(call rds-probe,header,regular expression,macro): -Dmacro if the header matches the expression
rds-probe = $(if $(shell grep -lE '$(2)' $(srctree)/include/$(1) 2>/dev/null),-D$(3))

rds-probes := $(call rds-probe,linux/skbuff.h,\<skb_splice_from_iter\>,RDS_HAVE_SKB_SPLICE)
rds-probes += $(call rds-probe,linux/net.h,struct proto_accept_arg,RDS_HAVE_ACCEPT_ARG)
rds-probes += $(call rds-probe,linux/net.h,\<SOCK_CUSTOM_SOCKOPT\>,RDS_HAVE_CUSTOM_SOCKOPT)
rds-probes += $(call rds-probe,linux/net.h,\<splice_eof\>,RDS_HAVE_SPLICE_EOF)
rds-probes += $(call rds-probe,linux/socket.h,struct sockaddr_unsized,RDS_HAVE_SOCKADDR_UNSIZED)
rds-probes += $(call rds-probe,linux/uio.h,\<iov_iter_extract_pages\>,RDS_HAVE_EXTRACT_PAGES)
rds-probes += $(call rds-probe,linux/sysctl.h,int proc_handler.const struct,RDS_HAVE_CONST_CTL_TABLE)
rds-probes += $(call rds-probe,net/sock.h,\<sk_net_refcnt_upgrade\>,RDS_HAVE_NET_REFCNT_UPGRADE)
rds-probes += $(call rds-probe,net/sock.h,\<ipv6_pinfo_offset\>,RDS_HAVE_PINFO_OFFSET)
rds-probes += $(call rds-probe,net/net_namespace.h,\<register_net_sysctl_sz\>,RDS_HAVE_NET_SYSCTL_SZ)
rds-probes += $(call rds-probe,linux/hrtimer.h,\<hrtimer_setup\>,RDS_HAVE_HRTIMER_SETUP)
rds-probes += $(call rds-probe,net/ipv6_stubs.h,\<ipv6_stub\>,RDS_HAVE_IPV6_STUBS)

ccflags-y += $(rds-probes)
