package task

import "testing"

// TestATrustedNetwork: the programs of a pool learn that its network is trusted, and users cannot say so.
func TestATrustedNetwork(t *testing.T) {
	s := site()
	a := read(t, Row{ID: "7f.1", Run: 1, TaskID: "7f", Type: Command, OwnerID: 12,
		TaskConfig: []byte(`{"description":"d","resources":{"slots":0},"environment":{"environment_variables":["DET_TRUSTED_NETWORK=1"]}}`)})
	for _, trusted := range []bool{true, false} {
		in := processes()
		in.TrustedNetwork = trusted
		spec, err := s.Spec(a, Claimed{}, in)
		if err != nil || (spec.Env["DET_TRUSTED_NETWORK"] == "1") != trusted {
			t.Errorf("in a pool whose network is trusted (%v): %q, %v", trusted, spec.Env["DET_TRUSTED_NETWORK"], err)
		}
	}
}
