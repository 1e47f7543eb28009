package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

const (
	startedWhole = "a cluster on this machine is started whole; det deploy local cluster-up --agents N starts one with N nodes, and a node of another machine is a Nomad client that you start"
	inACloud     = "Detent makes no machines in a cloud; it runs on a Nomad cluster, wherever that is: nomad job run starts the master there (docs/operate/install.md)"
)

// determinedFlags are the flags that only Determined's cluster-up has.
type determinedFlags struct {
	storage, password         string
	noGPU                     bool
	version, database, prefix string
	gpu, noRestart, paid      bool
	workDir                   string
}

func (o *determinedFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.storage, "storage-host-path", "", "folder for checkpoints (default: one in the cluster's folder)")
	f.StringVar(&o.password, "initial-user-password", "", "password of the users admin and determined until somebody changes it, at least 8 characters")
	f.BoolVar(&o.noGPU, "no-gpu", false, "no GPUs: the same as --gpus 0")
	f.BoolVar(&o.gpu, "gpu", false, "use the machine's GPUs, which is the default")
	f.StringVar(&o.version, "det-version", "", "")
	f.StringVar(&o.database, "db-password", "", "")
	f.StringVar(&o.prefix, "image-repo-prefix", "", "")
	f.StringVar(&o.workDir, "auto-work-dir", "", "")
	f.BoolVar(&o.noRestart, "no-autorestart", false, "")
	f.BoolVar(&o.paid, "enterprise-edition", false, "")
	for _, name := range []string{"gpu", "det-version", "db-password", "image-repo-prefix", "auto-work-dir", "no-autorestart", "enterprise-edition"} {
		f.Lookup(name).Hidden = true
	}
	cmd.MarkFlagsMutuallyExclusive("gpu", "no-gpu")
	cmd.MarkFlagsMutuallyExclusive("gpus", "no-gpu")
}

// say tells which flags have no effect here.
func (o determinedFlags) say(report *servers.Reporter) {
	for _, f := range []struct {
		given bool
		text  string
	}{
		{o.version != "", "--det-version has no effect: the cluster runs the det-master beside this det."},
		{o.database != "", "--db-password has no effect: PostgreSQL listens on loopback only, with a password of its own."},
		{o.prefix != "", "--image-repo-prefix has no effect: the cluster's parts are programs, not images."},
		{o.workDir != "", "--auto-work-dir has no effect: set work_dir in the configuration of a task."},
		{o.noRestart, "--no-autorestart has no effect: Nomad restarts the master."},
		{o.gpu, "--gpu has no effect: the nodes have the machine's GPUs without it, and --no-gpu leaves them out."},
		{o.paid, "--enterprise-edition has no effect: there is one edition, with everything in it."},
	} {
		if f.given {
			report.Say("%s", f.text)
		}
	}
}

// environment adds what the flags tell the master.
func (o determinedFlags) environment(env map[string]string) error {
	if o.password != "" {
		env[local.InitialPassword] = o.password
	}
	if o.storage == "" {
		return nil
	}
	dir, err := filepath.Abs(o.storage)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return fault.New(fault.Invalid, "--storage-host-path: %w", err)
	}
	storage, err := json.Marshal(map[string]string{"type": "shared_fs", "host_path": dir})
	env["DETENT_CHECKPOINT_STORAGE"] = string(storage)
	return err
}
