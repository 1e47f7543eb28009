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

func TestRedact(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:secret@db:5432/x":                       "postgres://u:…@db:5432/x",
		"postgres://u:se@cret@db/x":                           "postgres://u:…@db/x",
		"postgres://u:secret?@db/x":                           "postgres://…",
		"postgres://db/x?user=u&password=secret&sslmode=off":  "postgres://db/x?sslmode=off&…",
		"postgres://u@/x?host=/run&sslpassword=secret&port=1": "postgres://u:…@/x?host=/run&port=1&…",
		"postgres://db/x":                                     "postgres://db/x",
		"host=db password=secret":                             "…",
	} {
		if got := Redact(dsn); got != want {
			t.Errorf("%s is shown as %s, not as %s", dsn, got, want)
		}
	}
}
