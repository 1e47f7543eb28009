package expconf

import (
	"fmt"
	"reflect"
)

// Sections that old documents have. They are read, kept and shown; what has no
// effect any more is named by Unhonoured.

// RawOptimizations is optimizations as written.
type RawOptimizations struct {
	AggregationFrequency       *int    `json:"aggregation_frequency"`
	AutoTuneTensorFusion       *bool   `json:"auto_tune_tensor_fusion"`
	AverageAggregatedGradients *bool   `json:"average_aggregated_gradients"`
	AverageTrainingMetrics     *bool   `json:"average_training_metrics"`
	GradUpdatesSizeFile        *string `json:"grad_updates_size_file"`
	GradientCompression        *bool   `json:"gradient_compression"`
	MixedPrecision             *string `json:"mixed_precision"`
	TensorFusionCycleTime      *int    `json:"tensor_fusion_cycle_time"`
	TensorFusionThreshold      *int    `json:"tensor_fusion_threshold"`
}

// Optimizations tuned distributed training with Horovod.
type Optimizations struct {
	AggregationFrequency       int     `json:"aggregation_frequency"`
	AutoTuneTensorFusion       bool    `json:"auto_tune_tensor_fusion"`
	AverageAggregatedGradients bool    `json:"average_aggregated_gradients"`
	AverageTrainingMetrics     bool    `json:"average_training_metrics"`
	GradUpdatesSizeFile        *string `json:"grad_updates_size_file"`
	GradientCompression        bool    `json:"gradient_compression"`
	MixedPrecision             string  `json:"mixed_precision"`
	TensorFusionCycleTime      int     `json:"tensor_fusion_cycle_time"`
	TensorFusionThreshold      int     `json:"tensor_fusion_threshold"`
}

func (o *RawOptimizations) complete() Optimizations {
	if o == nil {
		o = &RawOptimizations{}
	}
	return Optimizations{
		AggregationFrequency:       first(1, o.AggregationFrequency),
		AutoTuneTensorFusion:       first(false, o.AutoTuneTensorFusion),
		AverageAggregatedGradients: first(true, o.AverageAggregatedGradients),
		AverageTrainingMetrics:     first(true, o.AverageTrainingMetrics),
		GradUpdatesSizeFile:        o.GradUpdatesSizeFile,
		GradientCompression:        first(false, o.GradientCompression),
		MixedPrecision:             first("O0", o.MixedPrecision),
		TensorFusionCycleTime:      first(1, o.TensorFusionCycleTime),
		TensorFusionThreshold:      first(64, o.TensorFusionThreshold),
	}
}

func (o Optimizations) check(k *checker) {
	const at = "optimizations"
	k.atLeast(at+".aggregation_frequency", o.AggregationFrequency, 1)
	k.atLeast(at+".tensor_fusion_cycle_time", o.TensorFusionCycleTime, 0)
	k.atLeast(at+".tensor_fusion_threshold", o.TensorFusionThreshold, 0)
	k.oneOf(at+".mixed_precision", o.MixedPrecision, "O0", "O1", "O2", "O3")
}

// DataLayer described a cache for training data.
type DataLayer struct {
	Type                    *string `json:"type,omitempty"`
	AccessKey               *string `json:"access_key,omitempty"`
	Bucket                  *string `json:"bucket,omitempty"`
	BucketDirectoryPath     *string `json:"bucket_directory_path,omitempty"`
	ContainerStoragePath    *string `json:"container_storage_path,omitempty"`
	EndpointURL             *string `json:"endpoint_url,omitempty"`
	HostStoragePath         *string `json:"host_storage_path,omitempty"`
	LocalCacheContainerPath *string `json:"local_cache_container_path,omitempty"`
	LocalCacheHostPath      *string `json:"local_cache_host_path,omitempty"`
	SecretKey               *string `json:"secret_key,omitempty"`
}

func (l *DataLayer) decode(d *decoder, n *node, path string) {
	cache := []string{"bucket", "bucket_directory_path", "local_cache_container_path", "local_cache_host_path"}
	union{
		noun: "data layer", key: "type",
		members: []member{
			{name: SharedFS, fields: []string{"container_storage_path", "host_storage_path"}},
			{name: S3, fields: append([]string{"access_key", "secret_key", "endpoint_url"}, cache...)},
			{name: GCS, fields: cache},
		},
	}.decode(d, n, path, reflect.ValueOf(l).Elem())
}

// onto takes the section whole; nothing reads it.
func (l DataLayer) onto(any) any { return l }

// Slurm holds arguments for a batch system that this platform does not use.
type Slurm struct {
	SlotsPerNode *int     `json:"slots_per_node,omitempty"`
	GPUType      *string  `json:"gpu_type,omitempty"`
	SbatchArgs   []string `json:"sbatch_args,omitempty"`
}

// PBS is the same for another batch system.
type PBS struct {
	SlotsPerNode *int     `json:"slots_per_node,omitempty"`
	PbsbatchArgs []string `json:"pbsbatch_args,omitempty"`
}

// checkPast bounds the sections that are only kept.
func (c Config) checkPast(k *checker) {
	c.Slurm.check(k)
	c.PBS.check(k)
}

func (s *Slurm) check(k *checker) {
	if s == nil {
		return
	}
	if s.SlotsPerNode != nil {
		k.within("slurm.slots_per_node", int64(*s.SlotsPerNode), 0, maxSlots)
	}
	k.words("slurm.sbatch_args", s.SbatchArgs)
}

func (p *PBS) check(k *checker) {
	if p == nil {
		return
	}
	if p.SlotsPerNode != nil {
		k.within("pbs.slots_per_node", int64(*p.SlotsPerNode), 0, maxSlots)
	}
	k.words("pbs.pbsbatch_args", p.PbsbatchArgs)
}

// Security named a Kerberos configuration for HDFS.
type Security struct {
	Kerberos *Kerberos `json:"kerberos,omitempty"`
}

// Kerberos is a part of Security.
type Kerberos struct {
	ConfigFile string `json:"config_file"`
}

// Internal carried the command line of experiments submitted from Python.
type Internal struct {
	Native *Native `json:"native,omitempty"`
}

// Native is a command line, written as a list or as {command: list}.
type Native struct {
	Command []string `json:"command"`
}

func (v *Native) decode(d *decoder, n *node, path string) {
	if n.kind == listKind {
		d.into(n, path, &v.Command)
		return
	}
	type plain Native
	d.into(n, path, (*plain)(v))
}

// Labels is a set of labels in the order in which they were written.
type Labels []string

// onto has the labels of both documents.
func (l Labels) onto(under any) any {
	return Labels(collect(l, under.(Labels), func(label string) string { return label }))
}

func (l *Labels) decode(d *decoder, n *node, path string) {
	var all []string
	if n.kind == mapKind { // {label: true}, which templates were once stored as
		for _, f := range n.fields {
			var on bool
			if d.into(f.value, join(path, f.key), &on); on {
				all = append(all, f.key)
			}
		}
	} else {
		d.into(n, path, &all)
	}
	seen := map[string]bool{}
	*l = Labels{}
	for _, label := range all {
		if !seen[label] {
			*l = append(*l, label)
		}
		seen[label] = true
	}
}

func (l Labels) check(k *checker) {
	k.atMost("labels", len(l), 100, "labels")
	for i, label := range l {
		at := index("labels", i)
		k.required(at, label, "")
		k.text(at, label, 128)
	}
}

// RetentionPolicy says how long logs are kept.
type RetentionPolicy struct {
	LogRetentionDays *int `json:"log_retention_days"` // -1: for ever
}

func (p *RetentionPolicy) check(k *checker) {
	if p == nil || p.LogRetentionDays == nil {
		return
	}
	if days := *p.LogRetentionDays; days < -1 || days > 32767 {
		k.fail("retention_policy.log_retention_days",
			fmt.Sprintf("must be from -1 (for ever) to 32767, found %d", days), "")
	}
}
