package grant

import (
	"strings"
	"testing"
	"time"
)

func TestAGrantIsForOneRequest(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	value := New("secret", "POST", "/proxy/t/api", 57, now)
	visitor, ok := Check("secret", value, "POST", "/proxy/t/api", now.Add(Life))
	if !ok || !strings.HasPrefix(visitor, "57-") || Anonymous(visitor) {
		t.Fatalf("%q %v", visitor, ok)
	}
	if strings.Contains(value, "secret") {
		t.Errorf("the grant %s contains the secret", value)
	}
	parts := strings.Split(value, ".")
	for what, c := range map[string]struct {
		secret, value, method, path string
		after                       time.Duration
	}{
		"another attempt": {"other", value, "POST", "/proxy/t/api", 0},
		"another method":  {"secret", value, "GET", "/proxy/t/api", 0},
		"another path":    {"secret", value, "POST", "/proxy/t/api/x", 0},
		"too late":        {"secret", value, "POST", "/proxy/t/api", Life + time.Second},
		"a later expiry":  {"secret", strings.Replace(value, parts[1], "1900000000", 1), "POST", "/proxy/t/api", 0},
		"another visitor": {"secret", strings.Replace(value, visitor, visitorOf("secret", 58), 1), "POST", "/proxy/t/api", 0},
		"the secret":      {"secret", "secret", "POST", "/proxy/t/api", 0},
		"no secret":       {"", New("", "POST", "/proxy/t/api", 57, now), "POST", "/proxy/t/api", 0},
		"nothing":         {"secret", "", "POST", "/proxy/t/api", 0},
	} {
		if _, ok := Check(c.secret, c.value, c.method, c.path, now.Add(c.after)); ok {
			t.Errorf("%s is accepted", what)
		}
	}
}

func TestVisitors(t *testing.T) {
	visitor, _ := Check("secret", New("secret", "GET", "/", 57, time.Now()), "GET", "/", time.Now())
	if id, ok := Session("secret", visitor); !ok || id != 57 {
		t.Errorf("%d %v", id, ok)
	}
	anonymous, _ := Check("secret", New("secret", "GET", "/", 0, time.Now()), "GET", "/", time.Now())
	if id, ok := Session("secret", anonymous); !ok || id != 0 || !Anonymous(anonymous) {
		t.Errorf("%d %v", id, ok)
	}
	for _, made := range []string{"57", "57-", "58" + strings.TrimPrefix(visitor, "57"), "-1-" + visitor, visitor + "0", "057" + strings.TrimPrefix(visitor, "57"), ""} {
		if id, ok := Session("secret", made); ok {
			t.Errorf("%q is session %d", made, id)
		}
	}
	if _, ok := Session("other", visitor); ok {
		t.Error("a visitor of another attempt")
	}
}
