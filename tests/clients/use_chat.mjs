// The AI SDK's chat against /api/chat and /chat/<agent>: submit, regenerate, resume.
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";

const base = process.argv[2];
const steps = {};
const texts = (chat) => chat.messages.map(({ role, parts }) => [
  role, parts.filter(({ type }) => type === "text").map(({ text }) => text).join("")]);
const chatAt = (api, id) => new Chat({
  id,
  transport: new DefaultChatTransport({
    api, body: { agentId: "agent1", memory: { thread: id, resource: "u1" } } }),
});

const chat = chatAt(`${base}/chat/agent1`, "k1");
await chat.sendMessage({ text: "Hi" });
steps.submitted = { status: chat.status, error: chat.error?.message ?? null, texts: texts(chat) };
await chat.sendMessage({ text: "use weather" });
steps.tool = {
  status: chat.status, error: chat.error?.message ?? null,
  parts: chat.messages.at(-1).parts.map(({ type, state }) => [type, state ?? null]) };
const before = chat.messages.at(-1).id;
await chat.regenerate();
steps.regenerated = { status: chat.status, count: chat.messages.length, fresh: chat.messages.at(-1).id !== before };
await chat.resumeStream();
steps.resumed = { status: chat.status, count: chat.messages.length };

const plain = chatAt(`${base}/api/chat`, "k2");
await plain.sendMessage({ text: "Hi", files: [{ type: "file", mediaType: "text/plain", filename: "a.txt", url: "data:text/plain;base64,aGk=" }] });
steps.plain = { status: plain.status, error: plain.error?.message ?? null, texts: texts(plain) };

const lost = chatAt(`${base}/chat/nope`, "k3");
await lost.sendMessage({ text: "Hi" });
steps.unknown = { status: lost.status, error: lost.error?.message ?? null };
console.log(JSON.stringify(steps));
process.exit(0);
