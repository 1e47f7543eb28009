// Package discovery says where things are: the members of an attempt, and the
// masters. It is Consul's catalogue, or Nomad's own services where a site runs no
// Consul.
//
// What is registered is told at once: a check that has not passed yet says
// nothing about a process that has just started, and a missing registration does
// not end anything. Whether a member is there, its runner tells the master
// itself; this package adds where.
package discovery
