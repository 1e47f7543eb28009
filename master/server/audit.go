package server

import (
	"context"

	"github.com/detent-ml/detent/master/audit"
)

// AuditConfig has the settings of the audit trail.
type AuditConfig struct {
	// Number of days after which entries are deleted; -1 keeps all entries.
	KeepDays int `yaml:"keep_days"`
}

const maxAuditDays = 36500

func (c AuditConfig) check(k *checker) {
	if c.KeepDays != -1 && (c.KeepDays < 1 || c.KeepDays > maxAuditDays) {
		k.fail("audit.keep_days", "must be from 1 to %d, or -1 for no limit, found %d", maxAuditDays, c.KeepDays)
	}
}

// keepAudit deletes old entries of the audit trail until ctx ends.
func (m *master) keepAudit(ctx context.Context) {
	if m.cfg.Audit.KeepDays > 0 {
		audit.Keep(ctx, m.db, m.cfg.Audit.KeepDays, m.log)
	}
}
