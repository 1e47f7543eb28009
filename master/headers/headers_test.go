package headers

import "testing"

func TestStripCookies(t *testing.T) {
	for line, want := range map[string]string{
		"":                                     "",
		"auth=x":                               "",
		"a=1; auth=x; b=2":                     "a=1; b=2",
		"a=1;auth=x;b=2":                       "a=1; b=2",
		"det-task-1=x; _xsrf=2|a|b":            "_xsrf=2|a|b",
		`Auth=1; DET-TASK-x=2; "auth"=3; c="q`: `c="q`,
		"authority=1":                          "authority=1",
		"det-sign-in=1; a=2":                   "a=2",
		"__Host-Http-det-sign-in=1; a=2":       "a=2",
		" auth =x; y":                          "y",
		"auth":                                 "",
	} {
		if got := stripCookies(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestIsOurs(t *testing.T) {
	for field, want := range map[string]bool{
		"Authorization": true, "authorization": true, "X-Detent-Gateway": true, "x_detent_gateway": true, "Grpc-Metadata-X-Allocation-Token": true,
		"X-Forwarded-For": true, "Forwarded": true, "X-Scheme": true, "Cookie": false, "X-Xsrftoken": false, "Content-Type": false, "X-Detention": false,
	} {
		if isOurs(field) != want {
			t.Errorf("%s: not %v", field, want)
		}
	}
}
