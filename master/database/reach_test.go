package database

import "testing"

func TestReach(t *testing.T) {
	for dsn, want := range map[string]struct {
		host string
		sure bool
	}{
		"postgres://u:p@db.example.com/detent":                         {"db.example.com", false},
		"postgres://u:p@db.example.com/detent?sslmode=disable":         {"db.example.com", false},
		"postgres://u:p@db.example.com/detent?sslmode=prefer":          {"db.example.com", false},
		"postgres://u:p@db.example.com/detent?sslmode=require":         {"db.example.com", false},
		"postgres://u:p@db.example.com/detent?sslmode=verify-ca":       {"db.example.com", true},
		"host=10.0.0.1 dbname=detent sslmode=verify-full":              {"10.0.0.1", true},
		"host=/run/postgresql dbname=detent":                           {"/run/postgresql", false},
		"postgres://u:p@a.example.com,b.example.com/x?sslmode=require": {"a.example.com", false},
	} {
		host, sure, err := Reach(dsn)
		if err != nil || host != want.host || sure != want.sure {
			t.Errorf("%s: %q, %v, %v; want %q, %v", dsn, host, sure, err, want.host, want.sure)
		}
	}
	if _, _, err := Reach("postgres://u:p@db:none/x"); err == nil {
		t.Error("an address without a port number was read")
	}
}
