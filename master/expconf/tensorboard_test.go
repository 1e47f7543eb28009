package expconf_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

func shownExperiment(t *testing.T, id int, growing bool, trials []int, lines ...string) expconf.ShownExperiment {
	t.Helper()
	raw, _, err := expconf.Parse("x", []byte("name: x\nentrypoint: x\nsearcher: {name: single, metric: m, max_length: {batches: 1}}\n"+strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return expconf.ShownExperiment{ID: id, Config: cfg, Trials: trials, Growing: growing}
}

func TestTensorboardSources(t *testing.T) {
	share := func(host, sub string) string {
		return fmt.Sprintf("checkpoint_storage: {type: shared_fs, host_path: %s, storage_path: %s}", host, sub)
	}
	sources, mounts, err := expconf.TensorboardSources("c", []expconf.ShownExperiment{
		shownExperiment(t, 1, false, []int{10, 11}, share("/a", "x")),
		shownExperiment(t, 2, true, []int{12}, share("/a", "y")),
		shownExperiment(t, 3, false, []int{13}, share("/b", "x")),
		shownExperiment(t, 4, false, []int{14}, "checkpoint_storage: {type: directory, container_path: /mnt/d/ckpt}", "bind_mounts: [{host_path: /disk, container_path: /mnt/d}, {host_path: /mn, container_path: /mn}]"),
		shownExperiment(t, 5, false, []int{15}, "checkpoint_storage: {type: directory, container_path: /mnt/d/more}", "bind_mounts: [{host_path: /disk, container_path: /mnt/d}]"),
		shownExperiment(t, 6, false, []int{16}, "checkpoint_storage: {type: directory, container_path: /in/image}"),
		shownExperiment(t, 7, false, []int{17}, "checkpoint_storage: {type: s3, bucket: b, prefix: p}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sources {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var flat struct {
			Name, Path string
			Storage    struct {
				Type, Bucket string
				At           string `json:"container_path"`
			}
		}
		if err := json.Unmarshal(b, &flat); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{flat.Name, flat.Storage.Type, flat.Storage.At + flat.Storage.Bucket, flat.Path}, " "))
	}
	want := `exp_1/trial_10 directory /determined_shared_fs/x c/tensorboard/experiment/1/trial/10
exp_1/trial_11 directory /determined_shared_fs/x c/tensorboard/experiment/1/trial/11
exp_2 directory /determined_shared_fs/y c/tensorboard/experiment/2
exp_3/trial_13 directory /determined_shared_fs_2/x c/tensorboard/experiment/3/trial/13
exp_4/trial_14 directory /mnt/d/ckpt c/tensorboard/experiment/4/trial/14
exp_5/trial_15 directory /mnt/d/more c/tensorboard/experiment/5/trial/15
exp_6/trial_16 directory /in/image c/tensorboard/experiment/6/trial/16
exp_7/trial_17 s3 b c/tensorboard/experiment/7/trial/17`
	if strings.Join(got, "\n") != want {
		t.Errorf("sources:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	var seen []string
	for _, m := range mounts {
		if m.ReadOnly == nil || !*m.ReadOnly {
			t.Errorf("%s can be written", m.HostPath)
		}
		seen = append(seen, m.HostPath+":"+m.ContainerPath)
	}
	if s := strings.Join(seen, " "); s != "/a:/determined_shared_fs /b:/determined_shared_fs_2 /disk:/mnt/d" {
		t.Errorf("mounts %s", s)
	}
	_, _, err = expconf.TensorboardSources("c", []expconf.ShownExperiment{
		shownExperiment(t, 4, false, nil, "checkpoint_storage: {type: directory, container_path: /d}", "bind_mounts: [{host_path: /one, container_path: /d}]"),
		shownExperiment(t, 5, false, nil, "checkpoint_storage: {type: directory, container_path: /d}", "bind_mounts: [{host_path: /two, container_path: /d}]"),
	})
	if err == nil || !strings.Contains(err.Error(), "experiment 5") || !strings.Contains(err.Error(), "/two") {
		t.Errorf("two folders at one path: %v", err)
	}
}

func TestCommandsThatAPoolCannotRun(t *testing.T) {
	parse := func(text string) expconf.CommandConfig {
		raw, _, err := expconf.ParseCommand("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c, err := expconf.CompleteCommand(raw, expconf.CommandDefaults{Description: "d"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mounted := parse("bind_mounts: [{host_path: /a, container_path: /b}]")
	if err := mounted.Refused(expconf.Capabilities{}); err == nil || !strings.Contains(err.Error(), "bind_mounts") {
		t.Errorf("%v", err)
	}
	if err := mounted.Refused(expconf.Everything()); err != nil {
		t.Error(err)
	}
	placed := parse("environment: {nomad: {constraints: [{attribute: '${attr.kernel.name}', operator: '=', value: linux}]}}")
	if err := placed.Refused(expconf.Capabilities{}); err == nil || !strings.Contains(err.Error(), "environment.nomad.constraints") {
		t.Errorf("%v", err)
	}
}
