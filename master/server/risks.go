package server

import (
	"github.com/detent-ml/detent/master/about/risks"
	"github.com/detent-ml/detent/master/database"
)

// risks are the settings that weaken the security of this installation.
func (m *master) risks() ([]risks.Risk, error) {
	s := risks.Settings{Listen: m.cfg.Listen, PublicURL: m.cfg.PublicURL, TLS: m.cfg.TLS.on(), BlankPasswords: m.cfg.BlankPasswords, Roles: m.cfg.Security.Authz.Type == authzRoles,
		TasksDomain: m.cfg.TasksDomain, Vault: m.vault != nil || m.cfg.WebIdentity.RoleARN != "", NomadOpen: m.cfg.Nomad.WithoutACL,
		ConsulOpen: m.cfg.Consul.Address != "" && m.cfg.Consul.WithoutACL}
	var err error
	if s.DatabaseHost, s.DatabaseIsSure, err = database.Reach(m.cfg.Database); err != nil {
		return nil, err
	}
	storage, err := m.cfg.storage()
	if err != nil {
		return nil, err
	}
	for _, key := range []*string{storage.SecretKey, storage.ConnectionString, storage.Credential} {
		s.StorageKeys = s.StorageKeys || key != nil
	}
	for _, p := range m.pools {
		of := risks.Pool{Name: p.Name, Driver: p.Driver, Images: p.HasImages(), Network: p.Network, SingleNode: p.SingleNode}
		if p.Limits != nil {
			of.HostPaths, of.Devices, of.Capabilities = p.Limits.HostPaths, p.Limits.Devices, p.Limits.Capabilities
		}
		s.Pools = append(s.Pools, of)
	}
	return risks.Of(s), nil
}

// warnOfRisks logs the risks when the master starts.
func (m *master) warnOfRisks(found []risks.Risk) {
	for _, r := range found {
		m.log.Warn("a setting weakens the security of this installation: "+r.Warning, "setting", r.Setting)
	}
}
