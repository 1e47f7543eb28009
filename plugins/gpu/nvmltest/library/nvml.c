// A stand-in for NVIDIA's library on machines without a driver. It answers what device plugins ask, for as many GPUs as the variable
// NVML_STANDIN_GPUS says (2 by default). Two GPUs each are connected by NVLink. A GPU has uncorrected memory errors while the file that
// NVML_STANDIN_SICK names has its number in it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvml.h"

#define MOST 8
#define MIB (1ULL << 20)

static char gpus[MOST]; // a handle is the address of one of them

static unsigned count(void) {
	const char *text = getenv("NVML_STANDIN_GPUS");
	int n = text ? atoi(text) : 2;
	return n < 0 ? 0 : n > MOST ? MOST : n;
}

static nvmlDevice_t handle(unsigned i) { nvmlDevice_t d = {(void *)&gpus[i]}; return d; }
static int place(nvmlDevice_t d) { return (int)((char *)(void *)d.handle - gpus); }

static int sick(void) {
	const char *path = getenv("NVML_STANDIN_SICK");
	FILE *f = path ? fopen(path, "r") : NULL;
	int i = -1;
	if (f == NULL) return -1;
	if (fscanf(f, "%d", &i) != 1) i = -1;
	fclose(f);
	return i;
}

#define ANSWER(to, value) (*(to) = (value), NVML_SUCCESS)

nvmlReturn_t nvmlInit_v2(void) { return NVML_SUCCESS; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { (void)flags; return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t r) { return r == NVML_ERROR_NOT_SUPPORTED ? "Not Supported" : "an error of the stand-in"; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned n) { snprintf(to, n, "580.00.00"); return NVML_SUCCESS; }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *to, unsigned n) { snprintf(to, n, "13.580.00.00"); return NVML_SUCCESS; }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *to) { return ANSWER(to, 13000); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *to) { return ANSWER(to, 13000); }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *to) { return ANSWER(to, count()); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *to) {
	if (i >= count()) return NVML_ERROR_INVALID_ARGUMENT;
	return ANSWER(to, handle(i));
}

static void uuid(unsigned i, char *to, unsigned n) { snprintf(to, n, "GPU-5741bd14-0000-4000-8000-%012u", i); }

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned n) { uuid(place(d), to, n); return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *id, nvmlDevice_t *to) {
	char one[NVML_DEVICE_UUID_BUFFER_SIZE];
	for (unsigned i = 0; i < count(); i++) {
		uuid(i, one, sizeof one);
		if (strcmp(one, id) == 0) return ANSWER(to, handle(i));
	}
	return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned n) { (void)d; snprintf(to, n, "NVIDIA Stand-in 80GB"); return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *to) {
	(void)d;
	to->total = 81920 * MIB, to->used = 1024 * MIB, to->free = to->total - to->used;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *to) {
	memset(to, 0, sizeof *to);
	to->bus = 0x10 + place(d);
	snprintf(to->busId, sizeof to->busId, "00000000:%02X:00.0", to->bus);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) { (void)d; *major = 9, *minor = 0; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *to) { (void)d; return ANSWER(to, 700000); }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, nvmlClockType_t c, unsigned *to) { (void)d; return ANSWER(to, c == NVML_CLOCK_MEM ? 2619 : 1980); }
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, nvmlClockType_t c, unsigned *to) { (void)d; return ANSWER(to, c == NVML_CLOCK_MEM ? 2619 : 345); }
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t d, nvmlBAR1Memory_t *to) {
	(void)d;
	to->bar1Total = 131072 * MIB, to->bar1Used = 2 * MIB, to->bar1Free = to->bar1Total - to->bar1Used;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, nvmlEnableState_t *to) { (void)d; return ANSWER(to, NVML_FEATURE_ENABLED); }
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t d, nvmlEnableState_t *to) { (void)d; return ANSWER(to, NVML_FEATURE_DISABLED); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *to) { (void)d; return ANSWER(to, 5); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned *to) { (void)d; return ANSWER(to, 16); }
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned *to) { return ANSWER(to, (unsigned)place(d)); }

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *then) { (void)d, (void)now, (void)then; return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned *to) { (void)d; return ANSWER(to, 0); }
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned i, nvmlDevice_t *to) { (void)d, (void)i, (void)to; return NVML_ERROR_NOT_FOUND; }
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t d, nvmlDevice_t *to) { (void)d, (void)to; return NVML_ERROR_INVALID_ARGUMENT; }

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t kind, nvmlEccCounterType_t since, unsigned long long *to) {
	(void)since;
	return ANSWER(to, kind == NVML_MEMORY_ERROR_TYPE_UNCORRECTED && place(d) == sick() ? 3 : 0);
}
nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t kind, nvmlEccCounterType_t since, nvmlEccErrorCounts_t *to) {
	(void)d, (void)kind, (void)since;
	memset(to, 0, sizeof *to);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
	(void)d;
	*corrected = *uncorrected = *pending = *failed = 0;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t d, nvmlEnableState_t *to) { (void)d, (void)to; return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *to) { (void)d; return ANSWER(to, 1); }
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned link, nvmlEnableState_t *to) {
	(void)d;
	if (link >= 12) return NVML_ERROR_INVALID_ARGUMENT;
	return ANSWER(to, NVML_FEATURE_ENABLED);
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *values) {
	(void)d;
	for (int i = 0; i < n; i++) {
		values[i].nvmlReturn = values[i].fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
		values[i].value.uiVal = NVML_GPU_RECOVERY_ACTION_NONE;
	}
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t *to) {
	(void)what;
	return ANSWER(to, place(a) / 2 == place(b) / 2 ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED);
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *to) {
	(void)a, (void)b;
	return ANSWER(to, NVML_TOPOLOGY_SYSTEM);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *to) { (void)d; to->gpu = 17, to->memory = 3; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t d, unsigned *to, unsigned *period) { (void)d; *to = 0, *period = 1; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t d, unsigned *to, unsigned *period) { (void)d; *to = 0, *period = 1; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *to) { (void)d; return ANSWER(to, 75000); }
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned *to) { (void)d, (void)s; return ANSWER(to, 31); }

// It reports no events: a plugin that waits for one waits as long as it says.
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *to) { to->handle = (void *)gpus; return NVML_SUCCESS; }
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) { (void)set; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t d, unsigned long long *to) { (void)d; return ANSWER(to, nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError); }
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set) { (void)d, (void)types, (void)set; return NVML_SUCCESS; }
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *to, unsigned ms) {
	(void)set, (void)to;
	usleep(1000 * ms);
	return NVML_ERROR_TIMEOUT;
}
