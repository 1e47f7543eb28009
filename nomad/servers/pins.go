package servers

import "cmp"

// Pin is a server at an exact version, and how to build it. Pins are data: another server is another
// entry, and a changed entry is another binary in the cache.
type Pin struct {
	Name    string // of the binary, and of the server in messages
	Title   string // for users
	Version string // without the "v"
	// Oldest is the oldest version of a binary on PATH that is used instead of a build.
	Oldest string
	// Module and Package are the source. The module is required at Version, or at Release if the
	// releases have no valid module versions.
	Module, Package string
	Release         string `json:",omitempty"`
	// Replace maps modules that the release replaces by folders of its own repository to modules in the
	// registry: "path@version" of the same commit.
	Replace map[string]string
	// Tags are build tags; "ui" embeds the server's web interface.
	Tags string
	// NoVersion is true if the binary cannot print its version: plugins, which Nomad starts, and programs
	// whose version only their makers' build sets. Such a binary on PATH is not used. The name in JSON is
	// part of the cache's key.
	NoVersion bool `json:"Plugin,omitempty"`
	// Minutes is the time of a first build on two cores, for messages.
	Minutes int
	// Released is true if the maker publishes archives that det can use: released.go has their names and addresses.
	Released bool `json:"-"`
	// Sums are the SHA-256 of such archives by their names, where several independent records of them agree. Others are verified with
	// the maker's list.
	Sums map[string]string `json:"-"`
}

// Pins returns the servers that this package can build.
func Pins() []Pin {
	return []Pin{
		{
			Name: "nomad", Title: "Nomad", Version: "1.11.2", Oldest: "1.10.0",
			Module: "github.com/hashicorp/nomad", Package: "github.com/hashicorp/nomad",
			Replace: map[string]string{
				"github.com/hashicorp/nomad/api": "github.com/hashicorp/nomad/api@v0.0.0-20260211190147-f876384fe3ab",
			},
			Tags: "ui release", Minutes: 4, Released: true,
			Sums: map[string]string{"nomad_1.11.2_linux_amd64.zip": "e042b0f6f6648b149be7cfddac832214cf8ca17725e5f0e420b5b0547532bdcd"},
		},
		{
			// Its submodules are published at the versions in its go.mod: nothing to replace.
			Name: "consul", Title: "Consul", Version: "1.22.5", Oldest: "1.18.0",
			Module: "github.com/hashicorp/consul", Package: "github.com/hashicorp/consul",
			Tags: "ui release", Minutes: 3, Released: true,
			Sums: map[string]string{"consul_1.22.5_linux_amd64.zip": "58603b87fd085282f882fcd02b5165c93b321692514b2ab822dec8dd4cd028a3"},
		},
		{
			// For checkpoints with credentials. Its API is published at the versions in its go.mod.
			Name: "vault", Title: "Vault", Version: "1.21.1", Oldest: "1.18.0",
			Module: "github.com/hashicorp/vault", Package: "github.com/hashicorp/vault",
			Minutes: 7, Released: true,
		},
		{
			// An object store for development and tests, with an STS for Vault.
			Name: "weed", Title: "SeaweedFS", Version: "4.39", Oldest: "4.39",
			Module: "github.com/seaweedfs/seaweedfs", Package: "github.com/seaweedfs/seaweedfs/weed",
			Release: "v0.0.0-20260710040814-db42bb49757b", Minutes: 3,
		},
		{
			// An emulator of Google Cloud Storage, for tests.
			Name: "fake-gcs-server", Title: "fake-gcs-server", Version: "1.56.1", Oldest: "1.56.1",
			Module: "github.com/fsouza/fake-gcs-server", Package: "github.com/fsouza/fake-gcs-server",
			NoVersion: true, Minutes: 2,
		},
		{
			// An ingress, for tests of the tags that tasks' services have for Traefik.
			Name: "traefik", Title: "Traefik", Version: "3.6.1", Oldest: "3.6.1",
			Module: "github.com/traefik/traefik/v3", Package: "github.com/traefik/traefik/v3/cmd/traefik",
			NoVersion: true, Minutes: 4,
		},
		{
			// For clusters with Podman: the newest version in the module registry.
			Name: "nomad-driver-podman", Title: "Nomad's driver for Podman", Version: "0.4.1", Oldest: "0.4.1",
			Module: "github.com/hashicorp/nomad-driver-podman", Package: "github.com/hashicorp/nomad-driver-podman",
			NoVersion: true, Minutes: 2,
		},
		{
			// For tests of pools whose nodes come and go.
			Name: "nomad-autoscaler", Title: "Nomad's autoscaler", Version: "0.4.6", Oldest: "0.4.6",
			Module: "github.com/hashicorp/nomad-autoscaler", Package: "github.com/hashicorp/nomad-autoscaler",
			Minutes: 4,
		},
	}
}

// release is the version at which the module is required.
func (p Pin) release() string {
	return cmp.Or(p.Release, "v"+p.Version)
}
