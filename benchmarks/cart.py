"""A shopping cart, one method short. `make run` completes it at the empty body of `total`."""

from dataclasses import dataclass, field


@dataclass
class Item:
    name: str
    price: float
    quantity: int = 1


@dataclass
class Cart:
    items: list[Item] = field(default_factory=list)

    def add(self, name: str, price: float, quantity: int = 1) -> None:
        self.items.append(Item(name, price, quantity))

    def remove(self, name: str) -> None:
        self.items = [item for item in self.items if item.name != name]

    def cheapest(self) -> Item:
        return min(self.items, key=lambda item: item.price)

    def most_expensive(self) -> Item:
        return max(self.items, key=lambda item: item.price)

    def total(self) -> float:
        """Sum of price times quantity over all items."""
        

def receipt(cart: Cart) -> str:
    lines = [f"{item.quantity} x {item.name}: {item.price:.2f}" for item in cart.items]
    return "\n".join([*lines, f"total: {cart.total():.2f}"])
