package server

import (
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/task"
)

// slotMemoryMB is the default memory of a CPU slot.
const slotMemoryMB = task.SlotMemoryMB

// readSite returns the settings that apply to all tasks.
func (m *master) readSite() (task.Site, error) {
	c := m.cfg
	s := task.Site{ClusterID: m.clusterID, ClusterName: c.ClusterName, MasterID: m.masterID, PublicURL: c.PublicURL,
		TaskURLs: c.TaskURLs, ServiceName: c.ServiceName, Scheme: c.scheme(), Authority: m.files.authority,
		Services:  jobspecs.NomadServices,
		Runner:    m.files.runner,
		Runners:   m.files.runners,
		StopAfter: time.Duration(c.StopAfter), PullTimeout: time.Duration(c.PullTimeout),
		Capabilities: c.capabilities(), SignIn: c.signIn(), Secrets: c.Vault.userSecrets()}
	s.Ingress = c.Ingress.site(c.origins(""))
	if c.Consul.Address != "" {
		s.Services = jobspecs.ConsulServices
	}
	var err error
	if s.Defaults, err = parseTaskDefaults(c.TaskContainerDefaults); err != nil {
		return s, err
	}
	if s.Defaults.LogPolicies == nil {
		s.Defaults.LogPolicies = expconf.DefaultLogPolicies()
	}
	return s, nil
}

// signIn is how tasks sign in to object storage.
func (c *Config) signIn() task.SignIn {
	s := task.SignIn{Region: c.S3Region}
	if v := c.Vault; v.Address != "" {
		s.Vault = task.Vault{Role: v.TaskRole, Namespace: v.Namespace, GCSSecret: v.GCSSecret, AzureSecret: v.AzureSecret}
		if v.RoleARN != "" {
			s.Vault.Engine = v.AWSPath
		}
	}
	if w := c.WebIdentity; w.RoleARN != "" {
		s.WebIdentity = task.WebIdentity{RoleARN: w.RoleARN, Audience: w.Audience, STSEndpoint: w.STSEndpoint}
	}
	return s
}
