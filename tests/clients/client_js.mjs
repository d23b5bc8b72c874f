// Every memory and agent method of @mastra/client-js, in the order of a conversation.
// Prints one JSON object: the value of each step by its name, or {failed, status}.
import { MastraClient } from "@mastra/client-js";

const client = new MastraClient({ baseUrl: process.argv[2], retries: 0 });
const steps = {};
const step = async (name, work) => {
  try {
    steps[name] = (await work()) ?? null;
  } catch (error) {
    steps[name] = { failed: error.message, status: error.status };
  }
};
const agentId = "agent1";
const requestContext = { tier: "gold", n: 1 };
const thread = client.getMemoryThread({ threadId: "t 1é", agentId });
const say = (id, text, second) => ({
  id, role: "user", threadId: "t 1é", resourceId: "u 1é", type: "text",
  createdAt: new Date(Date.UTC(2024, 0, 1, 0, 0, second)),
  content: { format: 2, parts: [{ type: "text", text }] },
});

await step("create", () => client.createMemoryThread({
  agentId, resourceId: "u 1é", threadId: "t 1é", title: "T", metadata: { a: 1 }, requestContext }));
await step("createMinimal", () => client.createMemoryThread({ agentId, resourceId: "u2" }));
await step("save", () => client.saveMessageToMemory({
  agentId, requestContext, messages: [say("m1", "coffee", 1), say("m2", "tea", 2), say("m3", "water", 3)] }));
await step("list", () => client.listMemoryThreads({
  resourceId: "u 1é", agentId, metadata: { a: 1 }, page: 0, perPage: 10,
  orderBy: { field: "updatedAt", direction: "DESC" }, requestContext }));
await step("listAll", () => client.listMemoryThreads({ perPage: false }));
await step("get", () => thread.get(requestContext));
await step("getWithoutAgent", () => client.getMemoryThread({ threadId: "t 1é" }).get());
await step("update", () => thread.update({
  title: "New", metadata: { k: "v" }, resourceId: "u 1é", requestContext }));
await step("messages", () => thread.listMessages());
await step("messagesChosen", () => thread.listMessages({
  resourceId: "u 1é", page: 0, perPage: 2, orderBy: { field: "createdAt", direction: "DESC" },
  filter: { dateRange: { start: new Date("2024-01-01"), end: new Date("2024-02-01"), startExclusive: true } },
  include: [{ id: "m1", withNextMessages: 1 }], includeSystemReminders: true, requestContext }));
await step("messagesAll", () => thread.listMessages({ perPage: false }));
await step("threadMessages", () => client.listThreadMessages("t 1é", { agentId, page: 0, perPage: 2 }));
await step("clone", () => thread.clone({
  newThreadId: "c1", resourceId: "u 1é", title: "Copy", metadata: { x: 1 },
  options: { messageLimit: 2, messageFilter: { endDate: new Date("2030-01-01") } }, requestContext }));
await step("workingMemoryBefore", () => client.getWorkingMemory({ agentId, threadId: "t 1é" }));
await step("workingMemoryWrite", () => client.updateWorkingMemory({
  agentId, threadId: "t 1é", resourceId: "u 1é", workingMemory: "# User\n- name: Ann" }));
await step("workingMemory", () => client.getWorkingMemory({
  agentId, threadId: "t 1é", resourceId: "u 1é", requestContext }));
await step("search", () => client.searchMemory({
  agentId, resourceId: "u 1é", threadId: "t 1é", searchQuery: "coffee & tea",
  memoryConfig: { lastMessages: 0, semanticRecall: { topK: 3, messageRange: 1 } }, requestContext }));
await step("status", () => client.getMemoryStatus(agentId, requestContext, { resourceId: "u 1é", threadId: "t 1é" }));
await step("config", () => client.getMemoryConfig({ agentId, requestContext }));
await step("observational", () => client.getObservationalMemory({ agentId, resourceId: "u1", threadId: "t1" }));
await step("deleteMessage", () => thread.deleteMessages("m1"));
await step("deleteMessages", () => thread.deleteMessages([{ id: "m2" }, { id: "nothing" }], { requestContext }));
await step("transfer", () => client.getMemoryThread({ threadId: "c1", agentId }).transfer({ resourceId: "u3" }));
await step("delete", () => client.deleteThread("c1", { agentId }));
await step("getDeleted", () => client.getMemoryThread({ threadId: "c1", agentId }).get());

await step("agents", async () => Object.keys(await client.listAgents(requestContext, true)));
const agent = client.getAgent(agentId);
await step("details", () => agent.details());
const memory = { thread: "g1", resource: "u1" };
await step("generate", () => agent.generate("Hi", { memory }));
await step("generateTool", () => agent.generate("use weather", { memory }));
await step("generateMessages", () => agent.generate([{ role: "user", content: "Hi again" }], {
  memory: { thread: { id: "g2", title: "G", metadata: { a: 1 } }, resource: "u1", options: { lastMessages: 5 } },
  maxSteps: 3, modelSettings: { temperature: 0 }, requestContext }));
const clock = (ran) => ({ clock: {
  id: "clock", description: "tells the time",
  execute: async () => { ran.push(true); return { time: "noon" }; } } });
await step("generateClientTool", async () => {
  const ran = [];
  const reply = await agent.generate("use clock", { memory: { thread: "g3", resource: "u1" }, clientTools: clock(ran) });
  return { ran: ran.length, text: reply.text, finishReason: reply.finishReason };
});
const streamed = async (messages, options) => {
  const chunks = [];
  const response = await agent.stream(messages, options);
  await response.processDataStream({ onChunk: async (chunk) => void chunks.push(chunk) });
  return chunks.map(({ type, payload, from, runId }) => ({ type, text: payload?.text, toolName: payload?.toolName, from, run: typeof runId }));
};
await step("stream", () => streamed("Hi", { memory: { thread: "s1", resource: "u1" } }));
await step("streamTool", () => streamed("use weather", { memory: { thread: "s1", resource: "u1" } }));
await step("streamClientTool", async () => {
  const ran = [];
  const chunks = await streamed("use clock", { memory: { thread: "s2", resource: "u1" }, clientTools: clock(ran) });
  return { ran: ran.length, chunks };
});
await step("unknownAgent", () => client.getAgent("nope").generate("Hi"));
console.log(JSON.stringify(steps));
process.exit(0);
