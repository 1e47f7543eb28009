package server

import (
	"testing"

	"github.com/detent-ml/detent/master/pool"
)

func poolsOf(t *testing.T, cfg Config) pool.Set {
	t.Helper()
	set, err := cfg.pools(nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
