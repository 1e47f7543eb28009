#!/bin/sh
# Makes the network of a node on which tasks in containers reach the world, but neither each other nor
# what a cloud tells its machines. Run it on each node as root, after Docker has started and at each boot:
# the network outlives a boot, and the firewall's rules do not. Running it again changes nothing.
#
#   sh network.sh
#
# and in the master's configuration, for the pool: network_mode: detent. It needs docker and iptables.
# Settings, all in the environment:
#
#   DETENT_NETWORK   name of the network (detent)
#   DETENT_BRIDGE    name of its bridge on the node (detent0)
#   DETENT_SUBNET    its addresses, such as 10.210.0.0/16; Docker chooses where it is empty
#   DETENT_REFUSED   addresses that tasks cannot connect to; those of the clouds' metadata servers
#
# Names are still asked at the refused addresses: clouds answer them there, too.
set -eu

network=${DETENT_NETWORK:-detent}
bridge=${DETENT_BRIDGE:-detent0}
# Nearly all clouds, and roles of AWS's containers; Alibaba; Azure's host; Oracle, of old.
refused=${DETENT_REFUSED:-169.254.0.0/16 100.100.100.200 168.63.129.16 192.0.0.192}

found=$(docker network ls --quiet --filter "name=^$network\$")
if [ -z "$found" ]; then
  docker network create --driver bridge ${DETENT_SUBNET:+--subnet "$DETENT_SUBNET"} \
    --opt com.docker.network.bridge.name="$bridge" \
    --opt com.docker.network.bridge.enable_icc=false "$network" >/dev/null
fi
is() { docker network inspect --format "$1" "$network"; }
if [ "$(is '{{index .Options "com.docker.network.bridge.enable_icc"}} {{index .Options "com.docker.network.bridge.name"}} {{.EnableIPv6}}')" != "false $bridge false" ]; then
  echo "network.sh: $network is another network: it must be on the bridge $bridge with enable_icc=false and without IPv6; remove it, or choose another DETENT_NETWORK" >&2
  exit 1
fi

for address in $refused; do
  set -- DOCKER-USER -i "$bridge" -d "$address" -p tcp ! --dport 53 -j REJECT
  iptables -C "$@" 2>/dev/null || iptables -I "$@"
done
