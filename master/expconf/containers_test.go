package expconf

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf/hostpath"
)

func limitsForTest() *ContainerLimits {
	yes := true
	return &ContainerLimits{
		HostPaths: []string{"/data/*", "/scratch/", "/teams/*:rw", "/keep:rw"}, Devices: []string{"/dev/fuse"}, Capabilities: []string{"cap_ipc_lock"},
		Operators: ContainerAdditions{
			BindMounts:   BindMounts{{HostPath: "/etc/site", ContainerPath: "/site", ReadOnly: &yes}},
			Devices:      Devices{{HostPath: "/dev/kvm", ContainerPath: "/dev/kvm"}},
			Capabilities: []string{"SYS_NICE"}, Storage: "/mnt/checkpoints",
		},
		Reserved: func(target string) string {
			if strings.HasPrefix(target, "/alloc") || strings.HasPrefix(target, "/run/determined") {
				return "/alloc"
			}
			return ""
		},
	}
}

func TestContainerLimits(t *testing.T) {
	for more, says := range map[string]string{
		"": "",
		"bind_mounts: [{host_path: /data/a, container_path: /x}]":                          "",
		"bind_mounts: [{host_path: /data/a/, container_path: /x}]":                         "",
		"bind_mounts: [{host_path: /data/a/b, container_path: /x}]":                        "mount /data/a, and use b below it",
		"bind_mounts: [{host_path: /data/a/b/../c/d, container_path: /x}]":                 "mount /data/a, and use c/d below it",
		"bind_mounts: [{host_path: /teams/a/b, container_path: /x, read_only: true}]":      "mount /teams/a, and use b below it",
		"bind_mounts: [{host_path: /teams/a, container_path: /x}]":                         "",
		"bind_mounts: [{host_path: /keep, container_path: /x}]":                            "",
		"bind_mounts: [{host_path: /keep/a, container_path: /x}]":                          "mount /keep, and use a below it",
		"bind_mounts: [{host_path: '/keep:rw', container_path: /x}]":                       "not allowed",
		"bind_mounts: [{host_path: /data/, container_path: /x}]":                           "allowed are /data/*, /scratch/",
		"bind_mounts: [{host_path: /data/../etc, container_path: /x}]":                     "not allowed",
		"bind_mounts: [{host_path: /database, container_path: /x}]":                        "not allowed",
		"bind_mounts: [{host_path: /scratch, container_path: x/y}]":                        "",
		"bind_mounts: [{host_path: /scratch/a, container_path: /x}]":                       "not allowed",
		"bind_mounts: [{host_path: /etc/site, container_path: /site, read_only: true}]":    "",
		"bind_mounts: [{host_path: /etc/site, container_path: /site}]":                     "not allowed",
		"bind_mounts: [{host_path: /scratch, container_path: /alloc/data}]":                "which the task needs",
		"bind_mounts: [{host_path: /scratch, container_path: /run/determined/workdir/in}]": "",
		"bind_mounts: [{host_path: /scratch, container_path: /run/determined/info}]":       "which the task needs",
		"resources: {devices: ['/dev/fuse:/dev/fuse']}":                                    "",
		"resources: {devices: ['/dev/kvm:/dev/kvm']}":                                      "",
		"resources: {devices: ['/dev/mem:/dev/mem']}":                                      "allowed are /dev/fuse",
		"environment: {add_capabilities: [CAP_IPC_LOCK, sys_nice]}":                        "",
		"environment: {add_capabilities: [SYS_ADMIN]}":                                     "SYS_ADMIN is not allowed",
		"environment: {drop_capabilities: [SYS_ADMIN]}":                                    "",
		"environment: {registry_auth: {username: a, password: b}}":                         "",
		"environment: {registry_auth: {registrytoken: b}}":                                 "username and password",
		"environment: {registry_auth: {username: a, password: \"b\\nc\"}}":                 "line break",
		"checkpoint_storage: {type: shared_fs, host_path: /mnt/checkpoints}":               "",
		"checkpoint_storage: {type: shared_fs, host_path: /data/mine}":                     "tasks may only read /data/mine",
		"checkpoint_storage: {type: shared_fs, host_path: /teams/mine}":                    "",
		"checkpoint_storage: {type: shared_fs, host_path: /teams/mine, storage_path: a/b}": "",
		"checkpoint_storage: {type: shared_fs, host_path: /teams/mine/a}":                  "mount /teams/mine, and use a below it",
		"environment: {nomad: {host_paths: [{host_path: /data/a/b, container_path: /x}]}}": "mount /data/a, and use b below it",
		"checkpoint_storage: {type: shared_fs, host_path: /root}":                          "checkpoint_storage.host_path",
	} {
		config := "name: x\nentrypoint: [a]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n" + more
		if !strings.Contains(more, "checkpoint_storage") {
			config += "\ncheckpoint_storage: {type: directory, container_path: /x}"
		}
		raw, _, err := Parse("config", []byte(config))
		if err != nil {
			t.Fatalf("%s: %v", more, err)
		}
		c, err := Complete(raw, ClusterDefaults{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		can := Everything()
		can.Limits = limitsForTest()
		switch err := c.Refused(can); {
		case says == "" && err != nil:
			t.Errorf("%s is refused: %v", more, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: got %v, want an error with %q", more, err, says)
		}
	}
	can := Everything()
	can.Limits = limitsForTest()
	if w := readOnlyWarnings(t, can, "bind_mounts: [{host_path: /data/a, container_path: /x}, {host_path: /teams/a, container_path: /y}, {host_path: /data/b, container_path: /z, read_only: true}]\n"+
		"environment: {nomad: {host_paths: [{host_path: /scratch, container_path: /n}]}}"); len(w) != 2 || !strings.Contains(w[0]+w[1], "tasks may only read /data/a") || !strings.Contains(w[0]+w[1], "tasks may only read /scratch") {
		t.Errorf("the warnings are %q", w)
	}
	can.Limits = &ContainerLimits{}
	raw, _, err := ParseCommand("config", []byte("bind_mounts: [{host_path: /a, container_path: /b}]\ndescription: x"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := CompleteCommand(raw, CommandDefaults{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Refused(can); err == nil || !strings.Contains(err.Error(), "allowed_host_paths") {
		t.Errorf("a command with a mount where nothing is open: %v", err)
	}
}

// readOnlyWarnings are the warnings about the mounts of an experiment.
func readOnlyWarnings(t *testing.T, can Capabilities, more string) (list []string) {
	t.Helper()
	raw, _, err := Parse("config", []byte("name: x\nentrypoint: [a]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"+
		"checkpoint_storage: {type: directory, container_path: /x}\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Complete(raw, ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Unhonoured(can).Strings() {
		if strings.Contains(w, "read_only") {
			list = append(list, w)
		}
	}
	return list
}

// TestHostPaths: what an entry allows, and which entries would let a task replace what another entry allows.
func TestHostPaths(t *testing.T) {
	for entry, want := range map[string]hostpath.Entry{
		"/data": {Path: "/data"}, "/data/": {Path: "/data"}, "/data/*": {Path: "/data", Each: true}, "/a/../data/*:rw": {Path: "/data", Each: true, Write: true},
		"/data:rw": {Path: "/data", Write: true}, "/*": {Path: "/", Each: true}, "/": {Path: "/"},
	} {
		if got := hostpath.Parse(entry); got != want || hostpath.Problem(entry) != "" || hostpath.Parse(got.String()) != want {
			t.Errorf("%s is read as %+v (%s), want %+v", entry, got, got, want)
		}
	}
	for _, entry := range []string{"", "data", "data/*", "/da*", "/*/x", "/data:ro", "/data:rw/*", "/da:ta", "*:rw"} {
		if hostpath.Problem(entry) == "" {
			t.Errorf("%q is accepted", entry)
		}
	}
	for _, c := range []struct {
		entry, writable string
		in              bool
	}{
		{"/data/*", "/data", true}, {"/data/*", "/", true}, {"/data/*", "/data/*", false}, {"/data/*", "/data/a", false},
		{"/data/a/*", "/data/*", true}, {"/data/a", "/data/*", false}, {"/data/a/b", "/data/*", true}, {"/data", "/data", false},
		{"/data/a", "/data", true}, {"/database", "/data", false}, {"/*", "/data", false}, {"/", "/", false}, {"/data", "/", true}, {"/data", "/*", false}, {"/data/a", "/*", true},
	} {
		if got := hostpath.Parse(c.entry).InWritable(hostpath.Parse(c.writable)); got != c.in {
			t.Errorf("%s in %s: %v, want %v", c.entry, c.writable, got, c.in)
		}
	}
}

// TestImagesOfPodman: names with which Podman reads files of the node, or its images without a registry, are refused.
func TestImagesOfPodman(t *testing.T) {
	can := Everything()
	can.Limits = limitsForTest()
	can.Limits.RegistryImages, can.Limits.Operators.Images = true, []string{"docker-archive:/srv/base.tar"}
	for name, ok := range map[string]bool{
		"python": true, "python:3.12": true, "r.example:5000/team/python:1": true, "docker://r.example/python:1": true, "r.example/dir:1": true,
		"r.example/p@sha256:" + strings.Repeat("a", 64): true, "localhost/oci:1": true, "docker-archive:/srv/base.tar": true,
		"docker-archive:/etc/shadow": false, "oci-archive:/var/lib/x.tar": false, "oci:/srv/layout:tag": false, "dir:/root": false, "DIR:/root": false,
		"containers-storage:private/image:1": false, "docker-daemon:private:1": false, "docker:private": false, "sif:/x": false, "ostree:x@/y": false, "tarball:/x": false,
		"/srv/base.tar": false, "./base.tar": false, "unheard-of:/x": false,
	} {
		raw, _, err := ParseCommand("config", []byte("description: x\nenvironment: {image: {cuda: '"+name+"'}}"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := CompleteCommand(raw, CommandDefaults{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Refused(can); ok && err != nil || !ok && (err == nil || !strings.Contains(err.Error(), "environment.image.cuda") || !strings.Contains(err.Error(), "registry/name:tag")) {
			t.Errorf("%s: %v, want it accepted: %v", name, err, ok)
		}
	}
	can.Limits.RegistryImages = false
	raw, _, err := ParseCommand("config", []byte("description: x\nenvironment: {image: 'dir:1'}"))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := CompleteCommand(raw, CommandDefaults{}); err != nil || c.Refused(can) != nil {
		t.Errorf("under Docker an image has the name dir: %v %v", err, c.Refused(can))
	}
}

func TestMountsInContainers(t *testing.T) {
	list := BindMounts{{HostPath: "/a", ContainerPath: "/a/"}, {HostPath: "/b", ContainerPath: "in/../data"}, {HostPath: "/c", ContainerPath: "/run/determined/workdir/c"}}.InContainer()
	for i, want := range []ContainerMount{{Target: "/a"}, {Target: "/det-mounts/1", Link: "/run/determined/workdir/data"}, {Target: "/det-mounts/2", Link: "/run/determined/workdir/c"}} {
		if got := list[i]; got.Target != want.Target || got.Link != want.Link || *got.Propagation != "rprivate" {
			t.Errorf("%s is mounted at %s with a link at %q; want %s and %q", got.ContainerPath, got.Target, got.Link, want.Target, want.Link)
		}
	}
}

func TestRegistryCredentials(t *testing.T) {
	coded := base64.StdEncoding.EncodeToString([]byte("robot:pass:word"))
	name, password, err := (&RegistryAuth{Auth: coded}).Credentials()
	if err != nil || name != "robot" || password != "pass:word" {
		t.Errorf("auth is read as %q and %q: %v", name, password, err)
	}
	for _, a := range []RegistryAuth{{}, {Username: "a"}, {Auth: "!"}, {Auth: base64.StdEncoding.EncodeToString([]byte("nocolon"))}, {IdentityToken: "x"}} {
		if _, _, err := a.Credentials(); err == nil {
			t.Errorf("%+v gives credentials", a)
		}
	}
}
