package expconf

import (
	"encoding/base64"
	"strings"
	"testing"
)

func limitsForTest() *ContainerLimits {
	yes := true
	return &ContainerLimits{
		HostPaths: []string{"/data/*", "/scratch/"}, Devices: []string{"/dev/fuse"}, Capabilities: []string{"cap_ipc_lock"},
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
		"bind_mounts: [{host_path: /data/a/b, container_path: /x}]":                        "",
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
		"checkpoint_storage: {type: shared_fs, host_path: /data/mine}":                     "",
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
