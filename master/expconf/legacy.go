package expconf

import "github.com/detent-ml/detent/master/document"

// Sections of old documents. They are parsed, stored and shown; Unhonoured names those without
// effect.

// Optimizations tuned distributed training with Horovod.
type Optimizations struct {
	written
	AggregationFrequency       int     `json:"aggregation_frequency" default:"1" check:"at least 1"`
	AutoTuneTensorFusion       bool    `json:"auto_tune_tensor_fusion"`
	AverageAggregatedGradients bool    `json:"average_aggregated_gradients" default:"true"`
	AverageTrainingMetrics     bool    `json:"average_training_metrics" default:"true"`
	GradUpdatesSizeFile        *string `json:"grad_updates_size_file"`
	GradientCompression        bool    `json:"gradient_compression"`
	MixedPrecision             string  `json:"mixed_precision" default:"O0" check:"one of O0 O1 O2 O3"`
	TensorFusionCycleTime      int     `json:"tensor_fusion_cycle_time" default:"1" check:"at least 0"`
	TensorFusionThreshold      int     `json:"tensor_fusion_threshold" default:"64" check:"at least 0"`
}

// DataLayer described a cache for training data.
type DataLayer struct {
	written
	Type                    *string `json:"type,omitempty" union:"data layer" members:"shared_fs s3 gcs"`
	AccessKey               *string `json:"access_key,omitempty" of:"s3" secret:"true"`
	Bucket                  *string `json:"bucket,omitempty" of:"s3 gcs"`
	BucketDirectoryPath     *string `json:"bucket_directory_path,omitempty" of:"s3 gcs"`
	ContainerStoragePath    *string `json:"container_storage_path,omitempty" of:"shared_fs"`
	EndpointURL             *string `json:"endpoint_url,omitempty" of:"s3" secret:"query"`
	HostStoragePath         *string `json:"host_storage_path,omitempty" of:"shared_fs"`
	LocalCacheContainerPath *string `json:"local_cache_container_path,omitempty" of:"s3 gcs"`
	LocalCacheHostPath      *string `json:"local_cache_host_path,omitempty" of:"s3 gcs"`
	SecretKey               *string `json:"secret_key,omitempty" of:"s3" secret:"true"`
}

// onto does not merge: nothing uses the section.
func (l DataLayer) onto(any) any { return l }

// Slurm has arguments for the batch system Slurm, which Detent does not use.
type Slurm struct {
	SlotsPerNode *int     `json:"slots_per_node,omitempty" check:"0..maxSlots"`
	GPUType      *string  `json:"gpu_type,omitempty"`
	SbatchArgs   []string `json:"sbatch_args,omitempty" check:"words"`
}

// PBS has arguments for the batch system PBS, which Detent does not use.
type PBS struct {
	SlotsPerNode *int     `json:"slots_per_node,omitempty" check:"0..maxSlots"`
	PbsbatchArgs []string `json:"pbsbatch_args,omitempty" check:"words"`
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

func (v *Native) decode(d *decoder, n *document.Node, path string) {
	if n.Kind == document.ListKind {
		d.into(n, path, &v.Command)
		return
	}
	d.object(n, path, valueOf(v))
}

// Labels is a set of labels in the order of the document.
type Labels []string

// onto returns the labels of both documents.
func (l Labels) onto(under any) any {
	return Labels(collect(l, under.(Labels), func(label string) string { return label }))
}

func (l *Labels) decode(d *decoder, n *document.Node, path string) {
	var all []string
	if n.Kind == document.MapKind { // {label: true}, a form in old stored templates
		for _, f := range n.Fields {
			var on bool
			if d.into(f.Value, document.Join(path, f.Key), &on); on {
				all = append(all, f.Key)
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

// RetentionPolicy sets how long logs are kept.
type RetentionPolicy struct {
	LogRetentionDays *int `json:"log_retention_days" check:"-1 (for ever)..32767"`
}
