"""The twin of Hello.java, for machines without a JDK."""

print("Hello World")
