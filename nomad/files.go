// Package nomad holds what operators run: the master's job file and the ACL policy that it needs. They
// are plain files for the nomad command; the package embeds them so that the local cluster runs the
// same ones from an installed binary.
package nomad

import _ "embed"

// MasterJob is the job file of the master, with variables, for `nomad job run`.
//
//go:embed master.nomad.hcl
var MasterJob string

// MasterPolicy is the ACL policy that the master's workload identity needs where Nomad's ACLs are on.
//
//go:embed policies/det-master.policy.hcl
var MasterPolicy string

// Policies for Consul, where its ACLs are on: what the master needs, and what Nomad's agents and Consul's
// own need so that tasks are registered.
var (
	//go:embed policies/consul/det-master.policy.hcl
	ConsulMasterPolicy string
	//go:embed policies/consul/nomad-agent.policy.hcl
	ConsulNomadPolicy string
	//go:embed policies/consul/consul-agent.policy.hcl
	ConsulAgentPolicy string
)
