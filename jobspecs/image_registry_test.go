package jobspecs

import "testing"

func TestTheRegistryOfAnImage(t *testing.T) {
	for _, c := range []struct {
		image, server string
		same          bool
	}{
		{"registry.example/team/torch:2", "registry.example", true},
		{"registry.example/team/torch:2", "https://registry.example/v2/", true},
		{"Registry.Example:443/torch@sha256:00", "registry.example", true},
		{"docker://registry.example:5000/torch", "registry.example:5000", true},
		{"localhost/torch", "localhost", true},
		{"torch", "docker.io", true},
		{"team/torch:2", "https://index.docker.io/v1/", true},
		{"docker.io/team/torch", "index.docker.io", true},
		{"registry.example:5000/torch", "registry.example", false},
		{"evil.example/registry.example/torch", "registry.example", false},
		{"registry.example.evil.example/torch", "registry.example", false},
		{"registry.example", "registry.example", false}, // an image of Docker Hub with that name
		{"registry.example:5000", "registry.example:5000", false},
		{"evil.example:5000/torch", "docker.io", false},
		{"EVIL/torch", "docker.io", false},
		{"registry.example@evil.example/torch", "registry.example", false},
	} {
		if got := InRegistry(c.image, c.server); got != c.same {
			t.Errorf("%s is in %s: %v", c.image, c.server, got)
		}
	}
}
