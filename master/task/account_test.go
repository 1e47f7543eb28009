package task

import (
	"testing"

	"github.com/detent-ml/detent/master/pool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestAccountOfAProgram: a runner starts the program as the linked account, if it is not the runner of a
// container, which the driver starts as that account.
func TestAccountOfAProgram(t *testing.T) {
	s := site()
	for _, c := range []struct {
		account string
		of      *pool.Pool
		want    *v1.TaskAccount
	}{
		{"", processes(), nil},
		{"1234:1235", images(), nil},
		{"1234:1235", processes(), &v1.TaskAccount{UID: 1234, GID: 1235, User: "ada", Group: "lab"}},
		{"0:0", processes(), &v1.TaskAccount{User: "ada", Group: "lab"}},
		{"7:99999999999999999999", processes(), &v1.TaskAccount{UID: -1, GID: -1, User: "ada", Group: "lab"}},
	} {
		spec, err := s.Spec(read(t, Row{Type: Command, Account: c.account, AccountUser: "ada", AccountGroup: "lab"}), Claimed{}, c.of)
		if err != nil || (spec.Account == nil) != (c.want == nil) || c.want != nil && *spec.Account != *c.want {
			t.Errorf("%q with driver %s: %+v, %v; want %+v", c.account, c.of.Driver, spec.Account, err, c.want)
		}
	}
}
