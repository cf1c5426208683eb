// Functions that misbehave, each in one way; what they compute is right where they compute.
#define _DEFAULT_SOURCE  // fork() beside C11
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qkv/check_abi.h"

int plain_attention(const qkv_check_call* call);

static int64_t count_of(const int64_t shape[4]) { return shape[0] * shape[1] * shape[2] * shape[3]; }

static volatile float kept;

int refuses_everything(const qkv_check_call* call) {
  (void)call;
  return QKV_CHECK_UNSUPPORTED;
}

int prints(const qkv_check_call* call) {
  for (int line = 0; line < 5000; ++line) printf("a line that nobody reads\n");
  fprintf(stderr, "and another\n");
  return plain_attention(call);
}

int leaves_lse_alone(const qkv_check_call* call) {
  qkv_check_call without = *call;
  without.lse.data = NULL;
  return plain_attention(&without);
}

int crashes(const qkv_check_call* call) {
  fprintf(stderr, "about to fall\n");
  return *(volatile int*)(size_t)(call->batch - call->batch);
}

static int deeper(const volatile char* above, int64_t depth) {
  volatile char room[4096];
  room[0] = above[0];
  return depth == 0 ? 0 : deeper(room, depth - 1) + room[0];
}

int runs_out_of_stack(const qkv_check_call* call) {
  const volatile char first = (char)call->batch;
  return deeper(&first, INT64_MAX);
}

int calls_q(const qkv_check_call* call) {
  int (*function)(void);
  memcpy(&function, &call->q.data, sizeof(function));
  return function();
}

int loads_unaligned(const qkv_check_call* call) {
#if defined(__x86_64__)
  const char* odd = (const char*)call->q.data + 1;
  __asm__ volatile("movaps (%0), %%xmm0" ::"r"(odd) : "xmm0");
#else
  (void)call;
#endif
  return QKV_CHECK_DONE;
}

int aborts(const qkv_check_call* call) {
  (void)call;
  fprintf(stderr, "assertion failed: n > 0\n");
  abort();
}

int hangs(const qkv_check_call* call) {
  for (;;) kept = (float)call->batch;
}

// Slow where it answers at all.
int hangs_if_causal(const qkv_check_call* call) {
  if (call->causal) return hangs(call);
  usleep(60000);
  return plain_attention(call);
}

int prints_without_end(const qkv_check_call* call) {
  for (;;) printf("%d is not the end, and goes on\n", (int)call->batch);
}

int exits(const qkv_check_call* call) { exit(call->batch > 0 ? 3 : 4); }

int returns_seven(const qkv_check_call* call) {
  (void)call;
  return 7;
}

int reads_past_k(const qkv_check_call* call) {
  kept = ((const float*)call->k.data)[count_of(call->k.shape)];
  return plain_attention(call);
}

int reads_before_v(const qkv_check_call* call) {
  kept = ((const float*)call->v.data)[-1];
  return plain_attention(call);
}

int reads_far_past_q(const qkv_check_call* call) {
  kept = ((const float*)call->q.data)[1000000];
  return plain_attention(call);
}

int writes_before_o(const qkv_check_call* call) {
  ((float*)call->o.data)[-1] = 0;
  return plain_attention(call);
}

int writes_past_o(const qkv_check_call* call) {
  ((float*)call->o.data)[count_of(call->o.shape)] = 0;
  return plain_attention(call);
}

int writes_into_q(const qkv_check_call* call) {
  *(float*)call->q.data *= (float)call->scale;  // NOLINT: as somebody does who scales in place
  return plain_attention(call);
}

int writes_nothing(const qkv_check_call* call) {
  (void)call;
  return QKV_CHECK_DONE;
}

int leaves_the_last_query(const qkv_check_call* call) {
  qkv_check_call fewer = *call;
  if (call->uses & ~QKV_CHECK_USES_GROUPS) return QKV_CHECK_UNSUPPORTED;
  fewer.query_length -= 1;
  return plain_attention(&fewer);
}

int adds_to_o(const qkv_check_call* call) {
  const int64_t count = count_of(call->o.shape);
  float* before = malloc((size_t)count * sizeof(float));
  if (before == NULL) return 1;
  memcpy(before, call->o.data, (size_t)count * sizeof(float));
  const int answer = plain_attention(call);
  for (int64_t i = 0; i < count && answer == QKV_CHECK_DONE; ++i) ((float*)call->o.data)[i] += before[i];
  free(before);
  return answer;
}

int gives_nan(const qkv_check_call* call) {
  const int answer = plain_attention(call);
  if (answer == QKV_CHECK_DONE) *(float*)call->o.data = 0.0F / (float)(call->batch - call->batch);
  return answer;
}

int closes_everything(const qkv_check_call* call) {
  for (int file = 0; file < 64; ++file) close(file);
  return plain_attention(call);
}

int leaves_a_process(const qkv_check_call* call) {
  if (fork() == 0) {
    sleep(30);
    _exit(0);
  }
  return plain_attention(call);
}

int sends_itself_a_signal(const qkv_check_call* call) {
  raise(SIGSEGV);
  return plain_attention(call);
}

__attribute__((constructor)) static void fall(void) {  // where a test asks for it
  if (getenv("QKV_TEST_FALLS_WHEN_LOADED") != NULL) abort();
}

int needs_lines(const qkv_check_call* call) {  // of 64 bytes, as a kernel for aligned loads says it
  if ((uintptr_t)call->q.data % 64 != 0 || (uintptr_t)call->o.data % 64 != 0) return QKV_CHECK_UNSUPPORTED;
  return plain_attention(call);
}

static void count_up(const qkv_check_output* into) {
  for (int64_t i = 0; i < count_of(into->shape); ++i) ((float*)into->data)[i] = (float)i;
}

int gives_gradients(const qkv_check_call* call) {  // of the right shapes; their numbers count elements
  if (!(call->uses & QKV_CHECK_USES_GRADIENTS) || !(call->uses & QKV_CHECK_USES_D_LSE)) return 1;
  if (call->d_o.shape[3] != call->value_width || call->d_lse.shape[2] != call->query_length) return 2;
  if (call->bias.shape[0] != 1 || call->bias.shape[2] != 1 || call->bias.strides[2] != 0) return 3;
  if (!call->causal || call->corner != QKV_CHECK_CORNER_OFFSET || call->offset != 1 || call->window_left != 2) return 4;
  count_up(&call->o);
  count_up(&call->lse);
  count_up(&call->dq);
  count_up(&call->dk);
  count_up(&call->dv);
  count_up(&call->dbias);
  count_up(&call->dsinks);
  return QKV_CHECK_DONE;
}
