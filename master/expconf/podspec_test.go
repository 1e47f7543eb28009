package expconf_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// affinity is the node affinity of experiments for clouds of GPUs, with the labels of one of them.
const affinity = `      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: gpu.nvidia.com/class, operator: In, values: [A40]}
                  - {key: topology.kubernetes.io/region, operator: In, values: [ORD1]}
`

// TestPodSpec: the fields of a pod_spec that are translated, those that are rejected with line and column,
// and those that the warnings name.
func TestPodSpec(t *testing.T) {
	can := expconf.Everything()
	can.Volumes = []string{"imagenet"}
	can.Limits = &expconf.ContainerLimits{HostPaths: []string{"/data/*"}}
	can.PodLabels = []expconf.PodLabel{
		{Label: "gpu.nvidia.com/class", Value: "A40", GPU: "A40"}, {Label: "gpu.nvidia.com/class", Value: "A100_NVLINK", GPU: "A100-SXM*"},
		{Label: "topology.kubernetes.io/region", Value: "ORD1", Attribute: "${node.datacenter}", Is: "ord1"},
		{Label: "topology.kubernetes.io/region", Value: "LAS1", Attribute: "${node.datacenter}", Is: "las1"},
		{Label: "example.com/rack", Attribute: "${meta.rack}"},
	}
	can.PodLimits = []expconf.PodLimit{{Name: "rdma/ib", Devices: []string{"/dev/infiniband/uverbs0"}}}
	const bare = `null null []`
	for name, c := range map[string]struct {
		spec string // in spec, after 6 spaces
		want string // gpu, nomad and devices of the translation; or of the problem, if it begins with a path
		warn string
	}{
		"model and region": {affinity, `{"model":["A40"]} {"constraints":[{"attribute":"${node.datacenter}","value":"ord1"}]} []`, ""},
		"this or that": {`      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu.nvidia.com/class, operator: In, values: [A40, A100_NVLINK]}, {key: topology.kubernetes.io/region, operator: In, values: [ORD1, LAS1]}]}]}}}`,
			`{"model":["A40","A100-SXM*"]} {"constraints":[{"attribute":"${node.datacenter}","operator":"set_contains_any","value":"ord1,las1"}]} []`, ""},
		"selector": {`      nodeSelector: {example.com/rack: r1, kubernetes.io/arch: amd64, nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}`,
			`{"model":["NVIDIA A100 SXM4 40GB"]} {"constraints":[{"attribute":"${meta.rack}","value":"r1"},{"attribute":"${attr.cpu.arch}","value":"amd64"}]} []`, ""},
		"not there, and not in": {`      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: example.com/rack, operator: NotIn, values: [r1, r2]}, {key: example.com/rack, operator: Exists}]}]}}}`,
			`null {"constraints":[{"attribute":"${meta.rack}","operator":"!=","value":"r1"},{"attribute":"${meta.rack}","operator":"!=","value":"r2"},{"attribute":"${meta.rack}","operator":"is_set"}]} []`, ""},
		"fabric": {`      containers: [{name: determined-container, resources: {limits: {rdma/ib: '1', nvidia.com/gpu: 8, memory: 64Gi}}}]`,
			`null null [{"host_path":"/dev/infiniband/uverbs0","container_path":"/dev/infiniband/uverbs0","mode":null}] null 68719476736`, "slots decide how many GPUs"},
		"processors":         {`      containers: [{resources: {limits: {cpu: 1500m, memory: 1G}, requests: {cpu: 1, memory: 512Mi}}}, {resources: {requests: {cpu: '2', ephemeral-storage: 1Gi}}}]`, bare + ` 2 1000000000`, "ephemeral-storage: has no effect"},
		"a little, and none": {`      containers: [{resources: {limits: {cpu: 250000u, memory: 0}}}]`, bare + ` 0.25 null`, ""},
		"no quantity":        {`      containers: [{resources: {limits: {cpu: many}}}]`, "x.yaml:7:47: environment.pod_spec.spec.containers[0].resources.limits.cpu: many is no quantity of Kubernetes", ""},
		"less than none":     {`      containers: [{resources: {limits: {cpu: -1}}}]`, "-1 is no quantity of Kubernetes", ""},
		"endless":            {`      containers: [{resources: {limits: {memory: InfG}}}]`, "InfG is no quantity of Kubernetes", ""},
		"all processors":     {`      containers: [{resources: {requests: {cpu: 5k}}}]`, "is more than 4096 processors", ""},
		"too little":         {`      containers: [{resources: {requests: {memory: 1Mi}}}]`, "is not from 64 MiB to 1 PiB", ""},
		"too much":           {`      containers: [{resources: {requests: {memory: 1e300}}}]`, "is not from 64 MiB to 1 PiB", ""},
		"beside a size":      {"      containers: [{resources: {limits: {cpu: 3, memory: 1Gi}}}]\nresources: {cpus: 0.5, memory: 2GiB}", bare + ` 0.5 2147483648`, "has no effect: resources.memory is set"},
		"volumes": {"      volumes: [{name: data, persistentVolumeClaim: {claimName: imagenet}}, {name: scratch, hostPath: {path: /data/x}}, {name: shm, emptyDir: {medium: Memory}}]\n" +
			"      containers: [{name: c, volumeMounts: [{name: data, mountPath: /imagenet, readOnly: true}, {name: scratch, mountPath: /x}, {name: shm, mountPath: /dev/shm}]}]",
			`null {"volumes":[{"name":"imagenet","container_path":"/imagenet","read_only":true}],"host_paths":[{"host_path":"/data/x","container_path":"/x","read_only":false}]} []`, "resources.shm_size sets its size"},
		"what has no effect": {`      {priorityClassName: high, tolerations: [{key: a, operator: Exists}], affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}}`, bare, "environment.pod_spec.spec.priorityClassName: has no effect"},

		"an unknown class":  {strings.Replace(affinity, "A40", "H100", 1), "x.yaml:12:21: environment.pod_spec.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]: cannot be honoured: this resource pool does not define the label gpu.nvidia.com/class=H100", ""},
		"an unknown label":  {`      nodeSelector: {cloud: large}`, "x.yaml:7:29: environment.pod_spec.spec.nodeSelector.cloud: cannot be honoured", ""},
		"not that model":    {strings.Replace(affinity, "In, values: [A40]", "NotIn, values: [A40]", 1), "use resources.gpu", ""},
		"alternatives":      {affinity + "              - matchExpressions: [{key: example.com/rack, operator: Exists}]\n", "has 2 alternatives", ""},
		"beside other pods": {`      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}`, "environment.pod_spec.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution: cannot be honoured", ""},
		"a foreign device":  {`      containers: [{resources: {limits: {example.com/fpga: 1}}}]`, "does not define which devices example.com/fpga means", ""},
		"another claim":     {"      volumes: [{name: data, persistentVolumeClaim: {claimName: mine}}]\n      containers: [{volumeMounts: [{name: data, mountPath: /d}]}]", "x.yaml:7:65: environment.pod_spec.spec.volumes[0].persistentVolumeClaim.claimName: mine is not a volume of this resource pool; available: imagenet", ""},
		"a forbidden path":  {"      volumes: [{name: etc, hostPath: {path: /etc}}]\n      containers: [{volumeMounts: [{name: etc, mountPath: /e}]}]", "environment.pod_spec.spec.volumes[0].hostPath.path: /etc is not allowed", ""},
		"a secret":          {"      volumes: [{name: s, secret: {secretName: s}}]\n      containers: [{volumeMounts: [{name: s, mountPath: /s}]}]", "cannot be mounted", ""},
		"no list":           {`      containers: {volumeMounts: []}`, "environment.pod_spec.spec.containers: expected a list", ""},
	} {
		text := "name: a\nentrypoint: ./train\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\nenvironment:\n  pod_spec:\n    spec:\n" + c.spec + "\n"
		raw, _, err := expconf.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // what was translated once, and sent again, is the same
			warnings, err := cfg.Translate(can)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %s", name, err, c.want)
				}
				break
			}
			got := asJSON(t, cfg.Resources.GPU) + " " + asJSON(t, cfg.Environment.Nomad) + " " + asJSON(t, cfg.Resources.Devices)
			if cfg.Resources.CPUs != nil || cfg.Resources.Memory != nil {
				got += " " + asJSON(t, cfg.Resources.CPUs) + " " + asJSON(t, cfg.Resources.Memory)
			}
			if got != c.want || !strings.Contains(strings.Join(warnings.Strings(), "\n"), c.warn) || c.warn == "" && len(warnings) > 0 {
				t.Errorf("%s:\n%s, want\n%s\nwarnings %q", name, got, c.want, warnings.Strings())
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
